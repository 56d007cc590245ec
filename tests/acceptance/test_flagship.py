"""The flagship scenario on the real engine: what `make demo` shows, in the part that tests can afford."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackgap.matrix_run import run_matrix
from ackgap.model.event import BoundaryReached, FaultInjected, Settling

pytest.importorskip("langgraph", reason="pip install 'ackgap[langgraph]'")

FLAGSHIP = Path(__file__).parents[2] / "scenarios" / "langgraph-ticket"
GAP = ["tickets.create#1:applied", "tickets.create#1:returned", "langgraph.put_writes.file_ticket#1:committing"]
AFTER = "langgraph.put_writes.file_ticket#1:committed"


def run(tmp_path, *, points, **axes):
    only = [f"{axis}={value}" for axis, value in axes.items()]
    return run_matrix(FLAGSHIP, root=tmp_path, directory=tmp_path / "out", only=only, points=points, warm=True)


def by_point(result):
    return {cell.rpartition("@")[0]: verdict for cell, verdict in result.verdicts.items()}


@pytest.mark.slow
def test_without_protection_the_ticket_is_filed_twice_throughout_the_gap_and_only_there(tmp_path):
    result = run(
        tmp_path, points=["tickets.create#1:received", *GAP, AFTER],
        durability="sync", resume="none", key="none", protection="none",
    )  # fmt: skip
    assert by_point(result) == {
        "undisturbed": "ok",
        "tickets.create#1:received": "ok",
        **dict.fromkeys(GAP, "duplicate"),
        AFTER: "ok",
    }
    variant = str(result.run.info.variants[0])
    returned = result.run.history(f"tickets.create#1:returned@{variant}")
    (fault,) = returned.of(FaultInjected)
    assert fault.settling is Settling.SETTLED
    (passage,) = [
        event
        for event in returned.passages
        if event.incarnation == 1 and event.point_text == "tickets.create#1:returned"
    ]
    end = returned.ends[1]
    assert passage.seq < fault.seq < end.seq
    assert end.signal == 9
    assert passage.store_digest == fault.store_digest == end.store_digest
    assert AFTER not in [event.point_text for event in returned.passages if event.incarnation == 1]

    committed = result.run.history(f"{AFTER}@{variant}")
    digests = {
        event.point_text: event.store_digest for event in committed.of(BoundaryReached) if event.incarnation == 1
    }
    assert committed.ends[1].signal == 9
    assert digests["tickets.create#1:returned"] == digests[GAP[2]] != digests[AFTER] == committed.ends[1].store_digest


@pytest.mark.slow
def test_a_key_fixed_before_the_model_speaks_holds_and_one_made_from_its_words_does_not(tmp_path):
    result = run_matrix(
        FLAGSHIP,
        root=tmp_path,
        directory=tmp_path / "out",
        only=["durability=sync", "resume=none", "key=payload,fixed", "protection=idempotency-key"],
        points=GAP,
        warm=True,
    )
    for cell, verdict in result.verdicts.items():
        expected = "duplicate" if "key=payload" in cell and not cell.startswith("undisturbed") else "ok"
        assert verdict == expected, cell
    payload = next(cell for cell in result.cells if "key=payload" in cell.cell and cell.schedule.faults)
    assert "unstable_key" in [finding.code for finding in payload.findings]


@pytest.mark.slow
def test_an_axis_value_that_does_not_take_effect_is_an_error_not_a_column(tmp_path):
    """The scenario asks for `sync` and the worker runs `async`: nothing may come out of that."""
    from ackgap.errors import ProbeFailed

    text = (
        (FLAGSHIP / "scenario.toml")
        .read_text()
        .replace('env = { DURABILITY = "sync" }', 'env = { DURABILITY = "async" }')
    )
    text = text.replace('command = "python worker.py"', 'command = "{python} worker.py"')
    folder = tmp_path / "lying"
    folder.mkdir()
    (folder / "scenario.toml").write_text(text)
    (folder / "worker.py").write_bytes((FLAGSHIP / "worker.py").read_bytes())
    with pytest.raises(ProbeFailed, match="durability=sync"):
        run_matrix(
            folder, root=tmp_path, directory=tmp_path / "out", warm=True, points=["tickets.create#1:applied"],
            only=["durability=sync", "resume=none", "key=none", "protection=none"],
        )  # fmt: skip


def test_the_expected_verdicts_of_the_demo_tell_its_story():
    """Read from the committed file, which `make demo` compares with a run: nothing here is set by hand in code."""
    verdicts = json.loads((FLAGSHIP / "expected.demo.json").read_text())
    assert len(verdicts) >= 40
    unprotected = "durability=sync,resume=none,key=none,protection=none"
    keyed = "durability=sync,resume=none,key=fixed,protection=idempotency-key"
    reworded = "durability=sync,resume=none,key=payload,protection=idempotency-key"
    for point in GAP:
        assert verdicts[f"{point}@{unprotected}"] == "duplicate"
        assert verdicts[f"{point}@{keyed}"] == "ok"
        assert verdicts[f"{point}@{reworded}"] == "duplicate"
    assert set(verdicts.values()) <= {"ok", "duplicate", "wasted"}
