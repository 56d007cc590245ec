"""A billing agent: a model writes what the customer reads on the statement, then Stripe charges the customer.

Written as its author would write it: the official client, a journal file, no line for any test tool.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import uuid
from pathlib import Path

import httpx
import stripe

ORDER = {"order": "4471", "amount": 12500, "currency": "eur", "customer": "cus_aurelia"}
JOURNAL = Path("journal.json")


def recorded() -> dict[str, str]:
    """Return the steps that are done, with what came of them."""
    return json.loads(JOURNAL.read_text()) if JOURNAL.exists() else {}


def record(step: str, outcome: str) -> None:
    """Note that a step is done, in one durable write."""
    fresh = JOURNAL.with_suffix(".new")
    fresh.write_text(json.dumps({**recorded(), step: outcome}))
    fresh.replace(JOURNAL)


def statement() -> str:
    """Have a model write the text on the customer's statement."""
    if os.environ.get("WORDING", "model") == "fixed":
        return f"Order {ORDER['order']}"
    answer = httpx.post(
        f"{os.environ['MODEL_URL']}/v1/chat/completions",
        json={
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": f"Describe the charge for order {ORDER['order']} in five words."}],
        },
        timeout=30,
    )
    return str(answer.raise_for_status().json()["choices"][0]["message"]["content"])


def key_for(text: str) -> str | None:
    """Return the idempotency key, made in one of the ways that are seen in the wild."""
    match os.environ.get("KEY", "stable"):
        case "stable":
            return f"order-{ORDER['order']}-charge"
        case "fresh":
            return str(uuid.uuid4())
        case "payload":
            return hashlib.sha256(json.dumps([ORDER, text]).encode()).hexdigest()
    return None


def charged_before(client: stripe.StripeClient) -> str | None:
    """Ask Stripe whether this order has been charged, if the worker is one that asks."""
    match os.environ.get("LOOKUP"):
        case "search":  # by the order alone, but Stripe says that it may be a minute behind
            found = client.v1.charges.search({"query": f"metadata['order']:'{ORDER['order']}'"}).data
        case "list":  # never behind, but all of the customer's charges have to be gone through
            made = client.v1.charges.list({"customer": ORDER["customer"], "limit": 100})
            found = [charge for charge in made.auto_paging_iter() if charge.metadata["order"] == ORDER["order"]]
        case _:
            return None
    return found[0].id if found else None


def charge(text: str) -> str:
    """Charge the customer and return the id of the charge."""
    client = stripe.StripeClient(
        os.environ["STRIPE_API_KEY"],
        base_addresses={"api": os.environ["STRIPE_API_BASE"]},
        max_network_retries=int(os.environ.get("STRIPE_RETRIES", "2")),
    )
    before = charged_before(client)
    if before:
        return before
    key = key_for(text)
    made = client.v1.charges.create(
        {
            "amount": ORDER["amount"],
            "currency": ORDER["currency"],
            "customer": ORDER["customer"],
            "description": text,
            "metadata": {"order": ORDER["order"]},
        },
        {"idempotency_key": key} if key else {},
    )
    return made.id


def main() -> None:
    """Charge the order once."""
    if "charge" not in recorded():
        try:
            record("charge", charge(statement()))
        except stripe.IdempotencyError:
            if os.environ.get("ON_REFUSAL") != "ask":
                raise
            sys.exit(f"NEEDS A HUMAN: order {ORDER['order']} was sent before in other words; was it charged?")
    print(f"order {ORDER['order']}: {recorded()['charge']}")


if __name__ == "__main__":
    main()
