"""PostgreSQL's protocol as somebody between client and server has to understand it: bytes in, steps out.

Nothing here opens a connection or looks at a clock; `execute/services/postgres_proxy.py` does.
"""
