"""The page of a buyer: one purchase, with a name of its own, and "pay" is pressed until it is said to be paid."""

import json
import sys
import time
import uuid
from urllib.error import HTTPError
from urllib.request import Request, urlopen

PATIENCE_S = 30
PURCHASE = {"customer": "cus_aurelia", "amount": 5000, "attempt": str(uuid.uuid4())}


def pay() -> bool:
    """Press the button once, and tell whether the purchase is paid."""
    request = Request(f"{sys.argv[1]}/topups", json.dumps(PURCHASE).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=PATIENCE_S) as answer:
            print(answer.read().decode())
            return True
    except HTTPError as error:
        print(error.read().decode())
    except OSError as error:
        print(f"no answer: {error}")
    return False


until = time.monotonic() + PATIENCE_S
while not pay():
    if time.monotonic() > until:
        sys.exit("not paid")
    time.sleep(0.1)  # a person presses again
