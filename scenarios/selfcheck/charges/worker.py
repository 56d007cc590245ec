"""Charges each order and refunds the deposit of the first; looks through what there is before it charges."""

import json
import os
import urllib.parse
import urllib.request

ORDERS = {"4471": 12500, "4472": 900}
BOOK = "book.json"


def stripe(path, form=None, key=None):
    headers = {"Authorization": "Bearer sk_test_selfcheck"}
    if key is not None:
        headers["Idempotency-Key"] = key
    data = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(os.environ["STRIPE_URL"] + path, data, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def read_book():
    if not os.path.exists(BOOK):
        return {}
    with open(BOOK) as file:
        return json.load(file)


def enter(book, line, value):
    book[line] = value
    with open(BOOK + ".new", "w") as file:
        json.dump(book, file)
    os.replace(BOOK + ".new", BOOK)


def charge_of(order):
    """Return the charge that an order has already; a list is never behind, a search may be."""
    made = stripe("/v1/charges?customer=cus_aurelia&limit=100")["data"]
    return next((charge for charge in made if charge["metadata"].get("order") == order), None)


def charge(order, amount):
    form = {"amount": amount, "currency": "eur", "customer": "cus_aurelia", "metadata[order]": order}
    return charge_of(order) or stripe("/v1/charges", form)


def main():
    book = read_book()
    for order, amount in ORDERS.items():
        if order not in book:
            enter(book, order, charge(order, amount)["id"])
    if "refund" not in book:
        form = {"charge": book["4471"], "amount": 500}
        refund = stripe("/v1/refunds", form, "refund-4471")
        enter(book, "refund", refund["id"])


if __name__ == "__main__":
    main()
