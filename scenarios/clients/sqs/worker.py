"""Puts a payment on a queue for another service, once; boto3, a journal file, nothing else."""

from __future__ import annotations

import json
import os
import time
import uuid
from pathlib import Path

import boto3

PAYMENT = {"order": "4471", "amount": 12500, "currency": "EUR"}
JOURNAL = Path("journal.json")


def deduplication() -> dict[str, str]:
    """Return the deduplication id to send along, made in one of the ways that are seen in the wild."""
    match os.environ["ID"]:
        case "stable":
            return {"MessageDeduplicationId": f"payment-{PAYMENT['order']}"}
        case "fresh":
            return {"MessageDeduplicationId": str(uuid.uuid4())}
    return {}


def body() -> str:
    """Return what the other service reads."""
    stamp = {"sent_at": time.time_ns()} if os.environ.get("TIMED") else {}
    return json.dumps({**PAYMENT, **stamp})


def send() -> str:
    """Send the payment and return the message's id."""
    sqs = boto3.client("sqs")
    sent = sqs.send_message(
        QueueUrl=os.environ["QUEUE_URL"],
        MessageGroupId=PAYMENT["order"],
        MessageBody=body(),
        MessageAttributes={"reference": {"DataType": "String", "StringValue": PAYMENT["order"]}},
        **deduplication(),
    )
    return str(sent["MessageId"])


if __name__ == "__main__":
    if not JOURNAL.exists():
        fresh = JOURNAL.with_suffix(".new")
        fresh.write_text(json.dumps({"message": send()}))
        fresh.replace(JOURNAL)
    print(JOURNAL.read_text())
