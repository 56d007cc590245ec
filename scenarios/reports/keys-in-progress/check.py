"""What the book says of the order is what the payment service has done."""

import json
import os
import sys
from pathlib import Path

events = [json.loads(line) for line in Path(os.environ["ACKGAP_HISTORY"]).read_text().splitlines()]
charges = [event["object_id"] for event in events if event["kind"] == "effect_applied"]
entry = json.loads(Path("orders.json").read_text()) if Path("orders.json").exists() else {"status": "nothing"}
paid = entry["status"] == "paid"
if paid != bool(charges):
    sys.exit(f"the book says {entry['status']!r}, and there are {len(charges)} charges")
if paid and entry["charge"] not in charges:
    sys.exit(f"the book names the charge {entry['charge']}, which does not exist")
