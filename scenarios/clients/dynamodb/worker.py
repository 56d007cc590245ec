"""Books a payment: an entry in the ledger and the account's new balance, in DynamoDB with boto3."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

ORDER = "4471"
ENTRY = {"pk": {"S": f"order-{ORDER}"}, "amount": {"N": "12500"}}
NEW = "attribute_not_exists(pk)"
DONE = Path("done.txt")
REFUSED = {"ConditionalCheckFailedException", "TransactionCanceledException"}


def transaction(condition: dict[str, str], token: dict[str, str]) -> None:
    """Write the entry and move the balance, both or neither."""
    booking: list[Any] = [
        {"Put": {"TableName": "ledger", "Item": ENTRY, **condition}},
        {
            "Update": {
                "TableName": "accounts",
                "Key": {"pk": {"S": "aurelia"}},
                "UpdateExpression": "ADD balance :amount",
                "ExpressionAttributeValues": {":amount": ENTRY["amount"]},
            }
        },
    ]
    boto3.client("dynamodb").transact_write_items(TransactItems=booking, **token)


def book() -> None:
    """Book in one of the ways that are seen in the wild."""
    match os.environ["WRITE"]:
        case "token-made-up":
            transaction({}, {})
        case "token-own":
            transaction({}, {"ClientRequestToken": f"book-{ORDER}"})
        case "condition":
            transaction({"ConditionExpression": NEW}, {})
        case "put":
            boto3.client("dynamodb").put_item(TableName="ledger", Item=ENTRY)
        case "put-condition":
            boto3.client("dynamodb").put_item(TableName="ledger", Item=ENTRY, ConditionExpression=NEW)


if __name__ == "__main__":
    if not DONE.exists():
        try:
            book()
        except ClientError as error:
            if error.response["Error"]["Code"] not in REFUSED:
                raise
            print("the entry is there already")
        DONE.write_text(ORDER)
    print(f"order {ORDER} is booked")
