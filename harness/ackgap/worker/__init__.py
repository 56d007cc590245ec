"""What runs inside the user's process: standard library only, nothing else of ackgap.

A Python worker is started with the directory `path` of this room in front of its `PYTHONPATH`. The `sitecustomize` in
it loads this room by its location, under the name `_ackgap_worker`, so that it works in an interpreter in which ackgap
is not installed and shadows no module of the user's; then it hands over to the next `sitecustomize` on the path.
Everything here keeps to what Python 3.9 has at run time, and imports little: `typing` and
`contextlib` would take longer than all the rest (`TYPE_CHECKING = False` is what type checkers take for true).

The protocol
------------
The worker is the client of a UNIX stream socket, the supervisor is the server. One connection a process: a child made
by `os.fork` opens its own, a Python subprocess inherits the environment and says hello for itself.

Environment: `ACKGAP_CHANNEL` is the path of the socket, and without it nothing is done at all; `ACKGAP_TOKEN` is the
secret of this life; `ACKGAP_CONFIG` is a JSON object, see `config`.

Messages are JSON objects, one a line, in UTF-8. From the worker:

`{"type": "hello", "token", "pid", "ppid", "python", "executable", "clock_moved"}`
    First message of every connection, written before any code of the user's runs.
`{"type": "reach", "id": N, "kind": "call", "phase", "call": C, "method", "host", "path", "local_port", "thread",
"blocks_loop", "pending"}`
    A thread or coroutine stands at `sending` (no byte of the request has left) or `returned` (the last byte of the body
    has reached the caller). `C` groups the two of one HTTP exchange. `host` is the key of `targets` in the
    configuration; other hosts are not announced. `local_port` is the client's own port, null while it is not known.
`{"type": "reach", "id": N, "kind": "checkpoint", "phase", "op": K, "name", "thread", "blocks_loop", "pending"}`
    A thread or coroutine stands at `committing` or `committed` of a durable write. `K` groups the two.
`{"type": "failed", "op": K, "text"}`
    The durable write ended in an exception after its `committing`; there will be no `committed`. No reply.
`{"type": "pending", "pending"}`
    A durable write that was handed to a background executor is over without having been announced from here, since a
    proxy in front of its store does that. No reply.
`{"type": "egress", "host", "port", "allowed"}`
    Once a host: somebody wants to reach a host other than this machine. No reply.
`{"type": "outside", "path"}`
    Once a path: something is written that lies outside of what the cell knows about. No reply.
`{"type": "trouble", "text"}`
    Something inside the injector did not work, or the library it looks into has changed. No reply.

`pending` lists the durable writes that were handed to a background executor and have not announced themselves yet, by
the number that each will have as its `op`. Numbers rise in the order in which the writes were asked for.
`blocks_loop` says that a synchronous hook was reached on a thread that runs an event loop, so that every coroutine of
that loop stands still while this one is parked.

The preload library (`ackgap/preload/library.c`) speaks the same protocol with one connection for each thread that
announces. Its hello has `"injector": "preload"`, it sends calls at `sending` only, and this:

`{"type": "reach", "id": N, "kind": "file", "phase": "committing", "op": K, "verb", "path", "offset", "size", "head",
"thread"}`
    A thread is about to `write`, `rename` (onto the path), `truncate`, `unlink` or `link` a file of the workspace. Each
    byte of the path is a character of its own; `head` are the first bytes of a write, in hexadecimal digits.
`{"type": "reach", "id": N, "kind": "file", "phase": "committed" | "failed", "op": K, "thread"}`
    It has done so, or could not. Said only where the answer to the first has `"then": true`.

To the worker: `{"id": N, "go": true}` lets what is parked at `N` go on. Without a reply it stands until it is killed.
If the connection breaks, the harness is gone, and the process ends at once with status 70.
"""
