"""Charges a customer once: the key is kept before it is sent, so that the next life sends the same."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

import stripe

DONE, KEY = Path("charge.json"), Path("key.txt")

if not KEY.exists():
    fresh = KEY.with_suffix(".new")
    fresh.write_text(str(uuid.uuid4()))
    os.replace(fresh, KEY)
if not DONE.exists():
    client = stripe.StripeClient("sk_test_ackgap")
    charge = client.v1.charges.create(
        {"amount": 12500, "currency": "eur", "source": "tok_visa"}, {"idempotency_key": KEY.read_text()}
    )
    fresh = DONE.with_suffix(".new")
    fresh.write_text(json.dumps({"charge": charge.id}))
    os.replace(fresh, DONE)
