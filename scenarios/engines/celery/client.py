"""Start the review of one partner, and wait for what comes of it, until the broker holds nothing more of it."""

import os

from celery import Celery, chain, signature
from celery.exceptions import TimeoutError as NoResultYet

PARTNER_ID = "4471"

app = Celery("client", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])


def broker_is_empty() -> bool:
    """Whether no message waits for a worker, and none is with a worker that has yet to acknowledge it."""
    redis = app.backend.client
    return redis.llen("celery") == 0 and redis.hlen("unacked") == 0


def main() -> None:
    review = chain(
        signature("tasks.write_words", args=(PARTNER_ID,)),
        signature("tasks.file_ticket", args=(PARTNER_ID,)),
        signature("tasks.notify", args=(PARTNER_ID,)),
    )
    result = review.apply_async()
    times_empty = 0
    while times_empty < 2:  # once would not do: a message on its way to the worker is in neither place
        try:
            print(f"partner-{PARTNER_ID}: ticket {result.get(timeout=2)}")
            return
        except NoResultYet:
            times_empty = times_empty + 1 if broker_is_empty() else 0
    print(f"partner-{PARTNER_ID}: no result, and nothing is left of it at the broker")


if __name__ == "__main__":
    main()
