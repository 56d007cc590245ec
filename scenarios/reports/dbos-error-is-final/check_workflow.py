"""DBOS itself says that the review is through, in the workflow or in a fork of it; if not, what has become of it."""

import sqlite3
import sys

with sqlite3.connect("dbos.sqlite") as system:
    rows = system.execute(
        "SELECT workflow_uuid, status, recovery_attempts FROM workflow_status WHERE NOT was_forked_from"
    ).fetchall()
if not rows:
    sys.exit("no workflow has begun")
for workflow, status, attempts in rows:
    if status != "SUCCESS":
        sys.exit(f"the workflow {workflow} is {status} after {attempts} attempts")
