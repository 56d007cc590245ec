"""DBOS itself says that the workflow is through; if not, what has become of it."""

import os
import sys

import psycopg

with psycopg.connect(os.environ["SYSTEM_DATABASE_URL"]) as system:
    rows = system.execute("SELECT workflow_uuid, status FROM dbos.workflow_status").fetchall()
if not rows:
    sys.exit("no workflow has begun")
for workflow, status in rows:
    if status != "SUCCESS":
        sys.exit(f"the workflow {workflow} is {status}")
