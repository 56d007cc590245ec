"""Prefect: a flow with a task for each step, told to the server of PREFECT_API_URL; results in files, or nowhere."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from prefect import flow, task
from prefect.cache_policies import INPUTS, TASK_SOURCE

from loops import Loop, numbers, work


@task
def step(number: int) -> dict[str, Any]:
    """Do one step."""
    return work(number)


@task(persist_result=True, cache_policy=INPUTS + TASK_SOURCE)
def kept_step(number: int, _: str) -> dict[str, Any]:
    """Do one step, unless it has been done for this piece of work."""
    return work(number)


@flow
def many(steps: int) -> None:
    """Do so many steps."""
    for number in range(steps):
        step(number)


@flow
def many_kept(steps: int, name: str) -> None:
    """Do so many steps, for a piece of work of that name."""
    for number in range(steps):
        kept_step(number, name)


def modes(_: ExitStack) -> dict[str, Loop]:
    """Return the loops by mode."""
    return {"none": many, "inputs": lambda steps: many_kept(steps, f"work-{next(numbers)}")}
