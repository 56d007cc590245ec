"""The user's own invariants, asked after the last life."""

from __future__ import annotations

import json
from pathlib import Path

from ackgap.execute.launch import Launch
from ackgap.execute.order import Order
from ackgap.execute.recorder import HistoryRecorder
from ackgap.model.event import CheckReported
from ackgap.target.wire.redaction import tail_of

__all__ = ["run_checks"]

_SAID = 2000
"""How many characters of what a check says are kept."""


async def run_checks(order: Order, launch: Launch, recorder: HistoryRecorder, scratch: Path) -> None:
    """Run each check of the scenario with the history so far, and write down what it says.

    Args:
        order: Which cell.
        launch: Runs the user's commands.
        recorder: Has the history.
        scratch: Where it is written for them.
    """
    if not order.scenario.checks:
        return
    path = scratch / "ackgap-history.jsonl"
    lines = (json.dumps(event) for event in recorder.history().to_json())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for check in order.scenario.checks:
        code, text = await launch.run(check.command, {"ACKGAP_HISTORY": str(path)})
        passed = {0: True, 1: False}.get(code)
        recorder.record(
            CheckReported, name=check.name, passed=passed, text=tail_of(text.strip(), _SAID), verdict=check.verdict
        )
