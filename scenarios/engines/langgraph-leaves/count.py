"""What a LangGraph worker has left in its store: rows, and what is in them."""

import sqlite3

with sqlite3.connect("agent.db") as store:
    for table, columns in (("checkpoints", ("checkpoint", "metadata")), ("writes", ("value",))):
        size = " + ".join(f"length({column})" for column in columns)
        count, size_bytes = store.execute(f"SELECT count(*), coalesce(sum({size}), 0) FROM {table}").fetchone()
        print(f"{table}: {count} rows, {size_bytes} bytes")
