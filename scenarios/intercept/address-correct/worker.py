"""Files a ticket at an address that cannot be set from outside, unless it is there already."""

from __future__ import annotations

import os
from pathlib import Path

import httpx

TICKETS = "https://tickets.example.com/tickets"
DONE = Path("done.txt")

if not DONE.exists():
    ticket = {"partner_id": "4471", "kind": "late-payment", "title": "Invoice 88 is late"}
    with httpx.Client(timeout=30) as client:
        found = client.get(TICKETS, params={"partner_id": "4471", "kind": "late-payment"}).raise_for_status().json()
        made = found["items"] or [client.post(TICKETS, json=ticket).raise_for_status().json()]
    fresh = DONE.with_suffix(".new")
    fresh.write_text(made[0]["id"])
    os.replace(fresh, DONE)
