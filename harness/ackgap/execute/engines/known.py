"""Which engines there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ackgap.execute.engines.dbos import Dbos
from ackgap.execute.engines.engine import Engine
from ackgap.execute.engines.temporal import Temporal, check_temporal
from ackgap.scenario.engine import EngineSpec

__all__ = ["check_engine", "engine_for", "shortened"]


def engine_for(spec: EngineSpec, *, fill: Callable[[str], str], directory: Path) -> Engine:
    """Return the engine that a scenario names.

    Args:
        spec: What it says.
        fill: Fills in placeholders.
        directory: The cell's.
    """
    if spec.kind == "dbos":
        return Dbos(spec, fill(spec.store or ""), directory)
    return Temporal(spec, fill(spec.address or ""))


def shortened(spec: EngineSpec | None) -> tuple[str, ...]:
    """Return what of an engine's waiting is shortened, a sentence each."""
    if spec is None or not spec.hurry:
        return ()
    return Dbos.shortens if spec.kind == "dbos" else Temporal.shortens


def check_engine(spec: EngineSpec | None) -> None:
    """Refuse to start where something is missing that asking takes.

    Raises:
        EnvironmentLacks: Names it and how to get it.
    """
    if spec is not None and spec.kind == "temporal":
        check_temporal()
