"""Charges a customer once, with no thought of what happens if it dies in between."""

from __future__ import annotations

import json
from pathlib import Path

import stripe

DONE = Path("charge.json")

if not DONE.exists():
    client = stripe.StripeClient("sk_test_ackgap")
    charge = client.v1.charges.create({"amount": 12500, "currency": "eur", "source": "tok_visa"})
    DONE.write_text(json.dumps({"charge": charge.id}))
