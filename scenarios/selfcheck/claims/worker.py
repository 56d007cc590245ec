"""Files claims in a model's words and tells the desk; a table says how far each claim is."""

import json
import os
import sqlite3
import urllib.error
import urllib.request

CLAIMS = ("71", "72")


def call(url, body=None, key=None):
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
        return json.load(answer)


def describe(claim):
    prompt = [{"role": "user", "content": f"Describe claim {claim} in a sentence."}]
    answer = call(os.environ["MODEL_URL"] + "/v1/chat/completions", {"model": "gpt-4o-mini", "messages": prompt})
    return answer["choices"][0]["message"]["content"]


def file_claim(claim):
    body = {"partner_id": claim, "kind": "claim", "title": describe(claim)}
    try:
        return call(os.environ["TICKETS_URL"] + "/tickets", body, f"claim-{claim}")["id"]
    except urllib.error.HTTPError as error:
        if error.code != 422:  # refused because of other words: an earlier attempt has filed it
            raise
        return call(os.environ["TICKETS_URL"] + f"/tickets?partner_id={claim}&kind=claim")["items"][0]["id"]


def told(text):
    sent = call(os.environ["DESK_URL"] + "/messages?to=claims&limit=100")["items"]
    return any(message["text"] == text for message in sent)


def main():
    db = sqlite3.connect("claims.db")
    db.execute("create table if not exists claims (claim text primary key, ticket text, told integer)")
    db.commit()
    for claim in CLAIMS:
        row = db.execute("select ticket, told from claims where claim = ?", (claim,)).fetchone()
        if row is None:
            ticket = file_claim(claim)
            db.execute("insert into claims values (?, ?, 0)", (claim, ticket))
            db.commit()
        if row is None or not row[1]:
            text = f"Claim {claim} is filed."
            if not told(text):
                call(os.environ["DESK_URL"] + "/messages", {"to": "claims", "text": text})
            db.execute("update claims set told = 1 where claim = ?", (claim,))
            db.commit()


if __name__ == "__main__":
    main()
