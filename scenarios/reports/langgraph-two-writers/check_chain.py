"""Every checkpoint of the thread has one successor at most; of two, one is out of reach of the end of the thread."""

import sqlite3
import sys

with sqlite3.connect("reviews.db") as reviews:
    forks = reviews.execute(
        "SELECT parent_checkpoint_id, count(*) FROM checkpoints"
        " WHERE checkpoint_ns = '' GROUP BY parent_checkpoint_id HAVING count(*) > 1"
    ).fetchall()
if forks:
    sys.exit("; ".join(f"the checkpoint {parent} has {children} successors" for parent, children in forks))
