"""What durability costs: the same tiny steps on each engine in each of its modes, beside the same without it.

Each engine runs in a process of its own, and all are there at once. A piece of work in a mode, the same without
durability and the same with a journal in a file come right after one another, in changing order, round after round. A
machine that is busy for a while is then busy for all of them, and ratios say more than times. How many durable writes
there are is counted once beside, with ackgap's injector in the worker; where a server writes, it says how many events.

python benchmarks/durability.py [--write] [--only TEXT]     the second leaves out what has no such text in its name
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from durability_bench import Bench, Missing
from measure import Interval, machine

STEPS = 20
BARE_STEPS = 20_000
"""Calls of a function take too little time to be measured in twenties."""
ROUNDS, AT_LEAST, BUDGET_S = 15, 5, 150.0
REPEATS, LONG_S = 3, 0.3
BARE = ("plain", "none")
JOURNAL = ("plain", "journal")


@dataclass(frozen=True)
class Subject:
    """A mode of an engine.

    Attributes:
        engine: What readers know it as.
        mode: Likewise.
        child: Name of the process that runs it.
        loop: What the process calls the mode.
        base: Process and mode of the same without durability.
    """

    engine: str
    mode: str
    child: str
    loop: str
    base: tuple[str, str] = BARE

    @property
    def bare(self) -> bool:
        """Whether nothing but calls of a function is what it is compared with."""
        return self.base == BARE


def subjects() -> Iterator[Subject]:
    """Yield what is measured, in the order of the table."""
    yield Subject("Plain Python", "journal", "plain", "journal")
    yield Subject("DBOS, SQLite", "step", "dbos", "step")
    yield Subject("DBOS, PostgreSQL", "step", "dbos-postgres", "step")
    yield Subject("Temporal, development server", "activity", "temporal", "activity")
    yield Subject("Temporal, development server", "local", "temporal", "local")
    for mode in ("function", "step"):
        yield Subject("Pydantic AI on DBOS, SQLite", mode, "pydantic-ai", mode, ("pydantic-ai", "none"))
    yield Subject("OpenAI Agents SDK, SQLite session", "session", "openai-agents", "session", ("openai-agents", "none"))
    yield Subject("LlamaIndex workflows", "file", "llamaindex", "file", ("llamaindex", "none"))
    for child, store in (("langgraph", "SQLite"), ("langgraph-postgres", "PostgreSQL")):
        for kind, what in (("graph", "graph"), ("functional", "functional API")):
            for mode in ("exit", "async", "sync"):
                yield Subject(f"LangGraph, {what}, {store}", mode, child, f"{kind} {mode}", (child, f"{kind} none"))
    yield Subject("Prefect", "none", "prefect", "none")
    yield Subject("Prefect", "inputs", "prefect", "inputs", ("prefect", "none"))
    for mode in ("early", "late"):
        yield Subject("Celery, Redis", mode, "celery", mode)


@dataclass
class Measured:
    """What was found about a subject; times in microseconds a step.

    Attributes:
        without: The same without durability.
        ratio: With durability to without.
        to_journal: With durability to a journal in a file.
        writes_a_step: Durable writes, of the program or events of the server; None where nobody counts them.
        writes_a_work: Those that come once for each piece of work.
        counted: `writes` or `events`.
        rounds: How often all of it was measured.
    """

    engine: str
    mode: str
    bare: bool
    with_us: Interval
    without_us: Interval
    ratio: Interval
    to_journal: Interval
    writes_a_step: float | None = None
    writes_a_work: float | None = None
    counted: str = ""
    rounds: int = 0


def measure(bench: Bench, wanted: list[Subject]) -> list[Measured]:
    """Measure subjects in rounds, and return what was found."""
    samples: dict[Subject, list[tuple[float, float, float]]] = {subject: [] for subject in wanted}
    for subject in wanted:
        for child, loop in {(subject.child, subject.loop), subject.base, JOURNAL}:
            bench.child(child).run(loop, 2)  # what is made at the first use
    ends_s = time.monotonic() + BUDGET_S
    for number in range(ROUNDS):
        if number >= AT_LEAST and time.monotonic() > ends_s:
            break
        for subject in wanted if number % 2 else reversed(wanted):
            samples[subject].append(sample(bench, subject, turn=number))
    return [found(bench, subject, samples[subject]) for subject in wanted]


def sample(bench: Bench, subject: Subject, *, turn: int) -> tuple[float, float, float]:
    """Return microseconds a step with durability, without, and with a journal; measured in an order that changes."""
    parts = [(subject.child, subject.loop), subject.base, JOURNAL]
    shift = turn % len(parts)
    taken: dict[tuple[str, str], float] = {}
    for child, loop in parts[shift:] + parts[:shift]:
        taken[child, loop] = smallest_us(bench, child, loop)
    return taken[subject.child, subject.loop], taken[subject.base], taken[JOURNAL]


def smallest_us(bench: Bench, child: str, loop: str) -> float:
    """Return microseconds a step: the smallest of several pieces of work, where they are short."""
    steps = BARE_STEPS if (child, loop) == BARE else STEPS
    times_s: list[float] = []
    while len(times_s) < REPEATS and sum(times_s) < LONG_S:
        times_s.append(bench.child(child).run(loop, steps)[0])
    return min(times_s) / steps * 1e6


def found(bench: Bench, subject: Subject, samples: list[tuple[float, float, float]]) -> Measured:
    """Return what the samples of a subject say, and its durable writes."""
    kind, writes = bench.writes(subject.child, subject.loop)
    return Measured(
        engine=subject.engine,
        mode=subject.mode,
        bare=subject.bare,
        with_us=Interval.of([mine for mine, _, _ in samples]),
        without_us=Interval.of([base for _, base, _ in samples]),
        ratio=Interval.of([mine / base for mine, base, _ in samples]),
        to_journal=Interval.of([mine / journal for mine, _, journal in samples]),
        writes_a_step=None if writes is None else writes[0],
        writes_a_work=None if writes is None else writes[1],
        counted=kind,
        rounds=len(samples),
    )


def lines(results: list[Measured], missing: list[Missing], file_system: str) -> Iterator[str]:
    """Yield what is printed."""
    rounds = max((result.rounds for result in results), default=0)
    yield f"Median of {rounds} rounds [smallest to largest]; {STEPS} steps a piece of work, best of up to {REPEATS}."
    yield f"Files on {file_system}; every commit of PostgreSQL and SQLite is forced to disk, the journal file is not."
    yield ""
    for result in results:
        yield f"{result.engine}: {result.mode}"
        yield f"  a step              {result.with_us.text('10.1f')} us"
        yield f"  {'bare calls' if result.bare else 'without durability':<19} {result.without_us.text('10.1f')} us"
        yield f"  with/without        {result.ratio.text('10.1f')}"
        if result.mode != "journal":
            yield f"  with/journal file   {result.to_journal.text('10.2f')}"
        if result.writes_a_step is not None:
            each, once = f"{result.writes_a_step:g} a step", f"{result.writes_a_work:g} a piece of work"
            yield f"  durable {result.counted}: {each}, and {once}"
    for each in missing:
        yield f"{each.name}: left out. {each.what}. {each.next_step}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the output in durability.txt and durability.json")
    parser.add_argument("--only", default="", help="measure only what has this text in its name")
    options = parser.parse_args()
    wanted = [subject for subject in subjects() if options.only in f"{subject.engine}: {subject.mode}"]
    if not wanted:
        raise SystemExit(f"nothing that is measured has {options.only!r} in its name")
    on = machine()
    print(f"machine: {on}", flush=True)
    with ExitStack() as ends:
        bench = ends.enter_context(Bench())
        missing = bench.start({name for each in wanted for name in (each.child, each.base[0], "plain")})
        there = [each for each in wanted if each.child not in {one.name for one in missing}]
        results = measure(bench, there)
        text = [f"machine: {on}", *lines(results, missing, bench.file_system)]
    print("\n".join(text[1:]))
    if options.write:
        here = Path(__file__)
        here.with_suffix(".txt").write_text("\n".join(text) + "\n", encoding="utf-8")
        document = {
            "machine": on,
            "measured": [asdict(result) for result in results],
            "missing": [asdict(each) for each in missing],
        }
        here.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
