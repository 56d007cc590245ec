"""Celery: a chain with a task for each step, over the Redis of REDIS_URL; a worker of one process does them."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

from celery import Celery, chain

from loops import Loop, work

app = Celery("loops.on_celery", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])
WORKER = ("--pool", "solo", "--without-mingle", "--without-gossip", "--without-heartbeat", "--loglevel", "ERROR")


@app.task
def early(number: int) -> dict[str, Any]:
    """Do one step, whose message is acknowledged before."""
    return work(number)


@app.task(acks_late=True)
def late(number: int) -> dict[str, Any]:
    """Do one step, whose message is acknowledged after it."""
    return work(number)


def modes(ends: ExitStack) -> dict[str, Loop]:
    """Return the loops by mode."""
    command = [sys.executable, "-m", "celery", "--app", "loops.on_celery", "worker", *WORKER]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    ends.callback(worker.wait)
    ends.callback(worker.terminate)

    def loop(task: Any) -> Loop:
        return lambda steps: chain(*[task.si(number) for number in range(steps)])().get()

    return {"early": loop(early), "late": loop(late)}
