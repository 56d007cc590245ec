# ruff: noqa: PTH110, PTH123, PTH105
"""An agent that sends, prints and writes whatever may do harm to whoever reads of it; run by test_hostile_content.

It files one ticket and notes that down. Its secrets come from its environment, as anybody's do.
"""

import hashlib
import http.client
import json
import os
import sys
from urllib.parse import quote, urlsplit

HARM = json.loads(os.environ["HARM"])
TOKEN = os.environ["HUSH_TOKEN"]
PASSWORD = os.environ["HUSH_PASSWORD"]
SIGNED = hashlib.sha256(TOKEN.encode()).hexdigest()
NOISE = "".join(HARM.values())
STATE = b"state-" + HARM["escape"].encode() + HARM["bidi"].encode() + b"\xff<script>.json"

if os.path.exists(STATE):
    sys.exit(0)

sys.stdout.buffer.write(NOISE.encode("utf-8", "surrogatepass") + b"\xff\xfe\n")
print(f"environment: {dict(os.environ)}".encode("utf-8", "backslashreplace").decode())
print(f"calling https://agent:{PASSWORD}@api.example/v1?access_token={TOKEN}&page=2")
print(f"DATABASE_URL={os.environ['DATABASE_URL']}")
print(f"curl -H 'Authorization: Bearer {TOKEN}' -H 'Cookie: sid={PASSWORD}; theme=dark' --token {TOKEN}")
sys.stdout.flush()

HEADERS = {
    "Content-Type": "application/json",
    "Authorization": f"Bearer {TOKEN}",
    "Cookie": f"sid={PASSWORD}; theme=dark",
    "Set-Cookie": f"sid={PASSWORD}",
    "X-Api-Key": TOKEN,
    "X-Auth-Token": PASSWORD,
    "Stripe-Signature": f"t=1700000000,v1={SIGNED}",
    "X-Hub-Signature-256": f"sha256={SIGNED}",
    "X-Amz-Security-Token": TOKEN,
    "X-Tenant": "acme \x1b[31m<script>",
}
if os.environ.get("KEY"):
    HEADERS["Idempotency-Key"] = os.environ["KEY"]
BODY = {
    "kind": "review",
    "partner_id": "4471",
    "title": NOISE,
    "password": PASSWORD,
    "note": f"use {TOKEN}, or Authorization: Bearer {TOKEN}, or AKIAIOSFODNN7EXAMPLQ; Signature={SIGNED}",
    NOISE[:40] * 200: "a long name",
    "lone": "\ud800 and \udfff",
    "big": "x" * 1_000_000,
}
WEB = urlsplit(os.environ["TICKETS_URL"])


def post(path, body, headers):
    connection = http.client.HTTPConnection(WEB.hostname, WEB.port)
    connection.request("POST", path, json.dumps(body).encode(), headers)
    connection.getresponse().read()
    connection.close()


post(f"/tickets?access_token={TOKEN}&X-Amz-Signature={SIGNED}&q={quote(HARM['bidi'])}", BODY, HEADERS)
if "ODD" in os.environ:
    post(f"/hooks/{TOKEN}/{quote(NOISE, errors='surrogatepass')}/{'long' * 300}", {"at": HARM["escape"]}, {})

with open(STATE + b".new", "w") as file:
    file.write("done")
os.replace(STATE + b".new", STATE)
