"""The server of a shop: POST /topups takes a payment, and answers once it is in the book.

Settings, all from the environment:
    STRIPE_URL   base URL of the payment service
    KEY          delivery | attempt: whether each delivery of a request makes a payment of its own, or the key comes
                 from the attempt that the buyer's page has named
"""

import json
import os
import sqlite3
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

BOOK = "topups.sqlite"


def take_payment(topup: dict) -> str:
    """Charge the buyer and return the id of the payment."""
    key = topup["attempt"] if os.environ.get("KEY") == "attempt" else str(uuid.uuid4())
    answer = httpx.post(
        os.environ["STRIPE_URL"] + "/v1/payment_intents",
        data={
            "amount": topup["amount"],
            "currency": "usd",
            "customer": topup["customer"],
            "payment_method": "pm_card_visa",
            "confirm": "true",
        },
        headers={"Idempotency-Key": key},
        timeout=60,
    )
    return answer.raise_for_status().json()["id"]


class TopUps(BaseHTTPRequestHandler):
    """Takes one request."""

    def do_POST(self) -> None:
        topup = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            payment = take_payment(topup)
        except httpx.HTTPError as error:
            self._answer(502, {"error": f"the payment could not be confirmed: {error}"})
            return
        with sqlite3.connect(BOOK) as book:
            book.execute("INSERT OR REPLACE INTO topups VALUES (?, ?)", (payment, topup["customer"]))
        self._answer(200, {"payment": payment})

    def _answer(self, status: int, body: dict) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def main() -> None:
    with sqlite3.connect(BOOK) as book:
        book.execute("CREATE TABLE IF NOT EXISTS topups (payment TEXT PRIMARY KEY, customer TEXT)")
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), TopUps).serve_forever()


if __name__ == "__main__":
    main()
