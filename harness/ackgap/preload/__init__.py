"""The preload injector: a small C library that is loaded into workers of any language, and what can be loaded with it.

`library.c` is its source. It speaks the protocol of `ackgap.worker`; what it announces is understood in
`ackgap.execute.file_calls`.
"""
