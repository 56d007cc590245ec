"""Pays what is approved: a case and its payout are noted in one transaction; the outbox is worked off after that."""

import json
import os
import sqlite3
import urllib.request

APPROVED = (("C-1", 120), ("C-2", 75))


def post(service, path, body, key=None):
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    request = urllib.request.Request(os.environ[service] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def open_store():
    store = sqlite3.connect("payouts.db")
    store.execute("create table if not exists cases (name text primary key)")
    store.execute("create table if not exists outbox (name text primary key, amount integer, paid text)")
    store.commit()
    return store


def take_in(store, name, amount):
    """Note a case and what is to be paid for it, both or neither."""
    store.execute("insert into cases values (?)", (name,))
    store.execute("insert into outbox values (?, ?, null)", (name, amount))
    store.commit()


def pay(store, name, amount):
    payment = post("BANK_URL", "/payments", {"reference": name, "amount": amount}, f'"payout-{name}"')
    store.execute("update outbox set paid = ? where name = ?", (str(payment.get("id")), name))
    store.commit()


def close(name):
    post("TICKETS_URL", "/tickets", {"partner_id": name, "kind": "paid", "title": f"Case {name} is paid"})


def main():
    store = open_store()
    for name, amount in APPROVED:
        if store.execute("select 1 from cases where name = ?", (name,)).fetchone() is None:
            take_in(store, name, amount)
    for name, amount in store.execute("select name, amount from outbox where paid is null order by name").fetchall():
        pay(store, name, amount)
    for (name,) in store.execute("select name from outbox where paid is not null order by name").fetchall():
        close(name)
    store.close()


if __name__ == "__main__":
    main()
