"""What a reader of the stream sees: every line once."""

import sqlite3
import sys

with sqlite3.connect("dbos.sqlite") as system:
    rows = system.execute(
        "SELECT workflow_uuid, key, count(*) FROM streams GROUP BY workflow_uuid, key, value ORDER BY count(*) DESC"
    ).fetchall()
if len(rows) != 2:
    sys.exit(f"{len(rows)} different lines where one and the end of the stream should be")
workflow, stream, times = rows[0]
if times > 1:
    sys.exit(f"the stream {stream} of {workflow} has the same line {times} times")
