"""Files a ticket at an address that cannot be set from outside."""

from __future__ import annotations

from pathlib import Path

import httpx

TICKETS = "https://tickets.example.com/tickets"
DONE = Path("done.txt")

if not DONE.exists():
    ticket = {"partner_id": "4471", "kind": "late-payment", "title": "Invoice 88 is late"}
    answer = httpx.post(TICKETS, json=ticket, timeout=30).raise_for_status()
    DONE.write_text(answer.json()["id"])
