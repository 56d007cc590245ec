"""Charges an order, and writes down whether it has been paid.

Settings, all from the environment:
    STRIPE_URL    base URL of the payment service
    IN_PROGRESS   failure | unknown: how the answer 409, "another request with this key is in progress", is read
"""

import json
import os
from pathlib import Path

import httpx

ORDER = "4471"
BOOK = Path("orders.json")
CHARGE = {"amount": "12500", "currency": "eur", "customer": "cus_aurelia", "metadata[order]": ORDER}

stripe = httpx.Client(base_url=os.environ["STRIPE_URL"], timeout=60)


class NotCharged(Exception):
    """The service has said that it did not do it."""


def charge() -> str:
    """Charge the order and return the id of the charge.

    Raises:
        NotCharged: It was refused.
    """
    for _ in range(3):
        answer = stripe.post("/v1/charges", data=CHARGE, headers={"Idempotency-Key": f"order-{ORDER}"})
        if answer.is_success:
            return answer.json()["id"]
        in_progress = answer.status_code == httpx.codes.CONFLICT
        if answer.is_client_error and not (in_progress and os.environ.get("IN_PROGRESS") == "unknown"):
            raise NotCharged(f"HTTP {answer.status_code}")
    raise SystemExit("no clear answer, three times")


def main() -> None:
    if BOOK.exists():
        return
    try:
        entry = {"order": ORDER, "status": "paid", "charge": charge()}
    except NotCharged as error:
        entry = {"order": ORDER, "status": "payment failed", "reason": str(error)}
    draft = BOOK.with_suffix(".new")
    draft.write_text(json.dumps(entry))
    draft.replace(BOOK)
    print(f"order {ORDER}: {entry['status']}")


if __name__ == "__main__":
    main()
