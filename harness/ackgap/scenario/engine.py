"""What a scenario says of its engine, so that ackgap can ask it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["ENGINE_NEEDS", "EngineSpec", "engine_mistakes"]

ENGINE_NEEDS: Mapping[str, str] = {"dbos": "store", "temporal": "address"}
"""The key that says where an engine's records are, by its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """The engine that the worker is built on.

    Attributes:
        kind: A key of `ENGINE_NEEDS`.
        store: Of DBOS: its system database, a file below the cell's directory or a URL of PostgreSQL.
        address: Of Temporal: host and port of its server.
        namespace: Likewise.
        workflow: Id of the workflow that is the work; every one that there is, where it is None.
        hurry: Shorten what it waits for only because it does not know that a worker is dead.
        server: The worker never ends by itself: a life ends once the engine says that the work is finished.
        patience_s: Real seconds for which the engine has to have said the same, that the work has failed or is
            nobody's, while nothing is under way, before a life that still runs is given up.
    """

    kind: str
    store: str | None = None
    address: str | None = None
    namespace: str = "default"
    workflow: str | None = None
    hurry: bool = True
    server: bool = False
    patience_s: float = 3.0


def engine_mistakes(spec: EngineSpec) -> Iterator[tuple[str, str, str]]:
    """Yield the key, what is wrong with it, and what to do."""
    needed = ENGINE_NEEDS[spec.kind]
    examples = {"store": "'dbos.sqlite' or '{db.url}'", "address": "'{temporal.address}'"}
    if getattr(spec, needed) is None:
        yield needed, f"An engine of kind {spec.kind!r} needs it.", f"Write where it is, such as {examples[needed]}."
    for key in {*ENGINE_NEEDS.values()} - {needed}:
        if getattr(spec, key) is not None:
            yield key, f"An engine of kind {spec.kind!r} has no {key!r}.", f"Remove the key; it needs {needed!r}."
