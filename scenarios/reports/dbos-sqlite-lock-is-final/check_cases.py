"""A workflow that is through has opened its case, once."""

import sqlite3
import sys

with sqlite3.connect("dbos.sqlite") as system:
    through = system.execute("SELECT count(*) FROM workflow_status WHERE status = 'SUCCESS'").fetchone()[0]
with sqlite3.connect("cases.sqlite") as cases:
    count = cases.execute("SELECT count(*) FROM cases").fetchone()[0]
if count != through:
    sys.exit(f"{through} workflows are through, and there are {count} cases")
