"""The loops that `durability.py` measures: the same tiny steps, one after the other, on each engine.

One module an engine, `modes(ends)` in each: from a mode to what does one piece of work of so many steps in it. What a
program makes once in its life (a graph, an agent, a connection) is made before, and what has to be closed is put into
`ends`. Engines are used as their documentation shows them. `none` is the same program without durability.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any

Loop = Callable[[int], object]
"""Does one piece of work of so many steps; returns a number only where a server says how many events it wrote of it."""

TEXT = "Medium risk; one fine for a late filing of the accounts, paid in full. " * 3

numbers = itertools.count(1)
"""For ids that are used once."""


def work(number: int) -> dict[str, Any]:
    """Do what a step does at least: make its result."""
    return {"number": number, "text": TEXT}


def runner(ends: ExitStack) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Return what runs a coroutine to its end, always on the same event loop."""
    return ends.enter_context(asyncio.Runner()).run
