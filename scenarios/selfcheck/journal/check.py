"""Every ticket that was filed has a title."""

import json
import os
import sys

with open(os.environ["ACKGAP_HISTORY"]) as history:
    events = [json.loads(line) for line in history]
filed = [event for event in events if event["kind"] == "effect_applied" and event["operation"] == "tickets.create"]
for effect in filed:
    if not effect["content"].get("title"):
        sys.exit(f"{effect['object_id']} has no title")
