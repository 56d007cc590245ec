"""Files a report in a bucket with boto3; a model writes it, and says the same in other words each time."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

DONE = Path("done.txt")


def report() -> str:
    """Have a model write the report."""
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Write the report on case 4471."}]}
    request = urllib.request.Request(
        f"{os.environ['MODEL_URL']}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return str(json.load(answer)["choices"][0]["message"]["content"])


def file(text: str) -> str:
    """Put the report into the bucket and return its key."""
    way = os.environ["WRITE"]
    key = "reports/4471.txt"
    condition: dict[str, Any] = {"IfNoneMatch": "*"} if way.startswith("if-none-match") else {}
    try:
        boto3.client("s3").put_object(Bucket="cases", Key=key, Body=text.encode(), **condition)
    except ClientError as error:
        if error.response["Error"]["Code"] != "PreconditionFailed" or way != "if-none-match-done":
            raise
        print("the report is there already")
    return key


if __name__ == "__main__":
    if not DONE.exists():
        DONE.write_text(file(report()))
    print(DONE.read_text())
