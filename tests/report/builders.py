"""A made-up run of the partner-review agent: real event types, simulated worker. For tests of reports only."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from ackgap.model.boundary import CALL_PHASES, BoundaryKind, CrashPoint, Phase
from ackgap.model.event import (
    AttemptAnswered,
    AttemptDropped,
    AttemptReceived,
    BoundaryReached,
    Decision,
    EffectApplied,
    Event,
    FaultInjected,
    IncarnationEnded,
    IncarnationStarted,
    Injector,
    InjectorReady,
    Note,
    Settling,
    WorkFinished,
)
from ackgap.model.event_codec import event_to_json
from ackgap.model.expectation import Expectation, ExpectedEffect, OperationFacts
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.rate import Rate
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.model.verdict import Attribution, Finding, Verdict, VerdictKind
from ackgap.report.info import AxisInfo, AxisValueInfo, RowInfo, RunInfo
from ackgap.report.store import RunWriter

AXES = (
    AxisInfo(
        name="durability",
        title="Durability",
        about="When LangGraph writes its checkpoints.",
        values=(
            AxisValueInfo(name="exit", about="Only when the graph stops or waits for a human."),
            AxisValueInfo(name="sync", about="Before the next step begins."),
        ),
    ),
    AxisInfo(
        name="key",
        title="Idempotency key",
        about="What the worker sends as Idempotency-Key with the ticket.",
        values=(
            AxisValueInfo(name="none", about="No key."),
            AxisValueInfo(name="payload", about="A digest of the request."),
            AxisValueInfo(name="fixed", about="Workflow and step, chosen before the model speaks."),
        ),
    ),
    AxisInfo(
        name="protection",
        title="Ticket system",
        about="How the ticket system treats a repeated request.",
        values=(
            AxisValueInfo(name="none", about="Every request makes a ticket."),
            AxisValueInfo(name="key", about="The same key within 24 hours gets the first answer."),
        ),
    ),
)
OPERATIONS = {
    "search.query": OperationFacts(
        name="search.query", noun=("search", "searches"), effectful=False, paid=True, price=0.02, currency="USD"
    ),
    "model.chat": OperationFacts(
        name="model.chat", noun=("model call", "model calls"), effectful=False, paid=True, price=0.11, currency="USD"
    ),
    "approvals.request": OperationFacts(
        name="approvals.request", noun=("approval", "approvals"), effectful=True, honours_natural_key=True
    ),
    "tickets.create": OperationFacts(
        name="tickets.create", noun=("ticket", "tickets"), effectful=True, could_protect=("key",)
    ),
    "notify.send": OperationFacts(name="notify.send", noun=("notification", "notifications"), effectful=True),
}
PATHS = {
    "search.query": ("GET", "/search"),
    "model.chat": ("POST", "/v1/chat/completions"),
    "approvals.request": ("POST", "/approvals"),
    "tickets.create": ("POST", "/tickets"),
    "notify.send": ("POST", "/messages"),
}
STEPS = (
    ("search.query", "langgraph.put_writes.search_registry"),
    ("search.query", "langgraph.put_writes.search_news"),
    ("model.chat", "langgraph.put_writes.assess"),
    ("approvals.request", "langgraph.put.step3"),
    ("model.chat", ""),
    ("tickets.create", "langgraph.put_writes.file_ticket"),
    ("notify.send", "langgraph.put_writes.notify"),
)
ROW_PHASES = {
    "search.query": ("returned",),
    "model.chat": ("applied", "returned"),
    "approvals.request": ("received", "applied", "returned"),
    "tickets.create": ("sending", "received", "applied", "returned"),
    "notify.send": ("applied", "returned"),
}
TITLES = ("Review of Acme Ltd: elevated exposure", "Acme Ltd review: medium-high exposure", "Acme Ltd: exposure raised")
ASSESSMENT = "Two adverse news items since March; ownership unchanged. Exposure is elevated, recommend review."


class Killed(Exception):
    pass


@dataclass
class Simulation:
    """One cell: lives of a worker that goes on behind its last checkpoint."""

    variant: Variant
    schedule: Schedule
    pause: bool = False
    events: list[Event] = field(default_factory=list)
    done: int = 0
    attempts: int = 0
    clock: float = 0.0
    virtual: float = 1_750_000_000.0
    store: int = 0
    objects: dict[tuple[str, str], str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, kind: type[Any], **values: Any) -> None:
        self.clock += 0.013
        self.events.append(kind(seq=len(self.events) + 1, at_s=round(self.clock, 4), **values))

    def digest(self) -> str:
        return hashlib.sha256(str(self.store).encode()).hexdigest()[:12]

    def run(self) -> list[Event]:
        life = 0
        while True:
            life += 1
            self.add(
                IncarnationStarted,
                incarnation=life,
                pid=4000 + 7 * life,
                command=("python", "worker.py"),
                clock_offset_s=self.virtual - 1_750_000_000.0,
                store_digest=self.digest(),
            )
            self.add(InjectorReady, incarnation=life, pid=4000 + 7 * life, python="3.12.1")
            try:
                self.live(life)
            except Killed:
                fault = next(iter(self.schedule.faults_in(life)), None)
                assert fault is not None
                self.add(
                    IncarnationEnded,
                    incarnation=life,
                    exit_code=None,
                    signal=9,
                    by_harness=True,
                    store_digest=self.digest(),
                )
                self.virtual += fault.down_s
                continue
            self.add(
                IncarnationEnded,
                incarnation=life,
                exit_code=0,
                signal=None,
                by_harness=False,
                store_digest=self.digest(),
            )
            self.add(WorkFinished, incarnation=life, how="the worker exited 0 by itself")
            return self.events

    def live(self, life: int) -> None:
        occurrences: dict[str, int] = {}
        for number, (operation, checkpoint) in enumerate(STEPS):
            if number < self.done:
                continue
            occurrences[operation] = occurrences.get(operation, 0) + 1
            self.call(life, operation, occurrences[operation])
            if checkpoint and self.writes(checkpoint):
                self.at(life, checkpoint, 1, Phase.COMMITTING)
                self.store += 1
                self.done = number + 1
                self.at(life, checkpoint, 1, Phase.COMMITTED)

    def writes(self, checkpoint: str) -> bool:
        return (
            not self.variant.values
            or self.variant["durability"] == "sync"
            or checkpoint in {"langgraph.put.step3", "langgraph.put_writes.notify"}
        )

    def at(self, life: int, name: str, occurrence: int, phase: Phase, attempt: int | None = None) -> None:
        call = phase in CALL_PHASES
        wire = phase in {Phase.RECEIVED, Phase.APPLIED}
        self.add(
            BoundaryReached,
            incarnation=life,
            name=name,
            occurrence=occurrence,
            phase=phase,
            boundary_kind=BoundaryKind.CALL if call else BoundaryKind.CHECKPOINT,
            source=Injector.WIRE if wire else Injector.PYTHON,
            attempt=attempt,
            store_digest="" if call else self.digest(),
        )
        fault = next(iter(self.schedule.faults_in(life)), None)
        if fault and str(fault.point) == f"{name}#{occurrence}:{phase}":
            self.add(
                FaultInjected,
                incarnation=life,
                fault=str(fault),
                settling=Settling.SETTLED,
                settle_s=0.004,
                store_digest=self.digest(),
            )
            raise Killed

    def call(self, life: int, operation: str, occurrence: int) -> None:
        facts = OPERATIONS[operation]
        self.at(life, operation, occurrence, Phase.SENDING)
        self.attempts += 1
        number, (method, path) = self.attempts, PATHS[operation]
        body = self.body(operation, life, occurrence)
        key = self.key(operation, body)
        target = operation.partition(".")[0]
        self.add(
            AttemptReceived,
            attempt=number,
            incarnation=life,
            target=target,
            operation=operation,
            occurrence=occurrence,
            method=method,
            path=path,
            effectful=facts.effectful,
            paid=facts.paid,
            key=key,
            payload=body,
            payload_digest=hashlib.sha256(json.dumps(body).encode()).hexdigest(),
        )
        decision: Decision | None = None
        object_id = ""
        try:
            self.at(life, operation, occurrence, Phase.RECEIVED, number)
            decision, object_id = self.decide(operation, key)
            if decision is Decision.APPLIED:
                self.effect(life, operation, number, object_id, body, key)
            self.at(life, operation, occurrence, Phase.APPLIED, number)
        except Killed:
            self.add(AttemptDropped, attempt=number, decision=decision, cost=facts.price if decision else 0.0)
            raise
        rule = {Decision.REPLAYED: "same key within 24 h: first answer again", Decision.EXISTING: "already there"}
        self.add(
            AttemptAnswered,
            attempt=number,
            status=200 if decision is not Decision.APPLIED else 201,
            decision=decision,
            rule=rule.get(decision, ""),
            object_id=object_id,
            cost=facts.price,
        )
        self.at(life, operation, occurrence, Phase.RETURNED, number)

    def decide(self, operation: str, key: str | None) -> tuple[Decision, str]:
        if not OPERATIONS[operation].effectful:
            return Decision.READ, ""
        made = f"{operation[0].upper()}-{100 + self.counts.get(operation, 0) + 1}"
        if operation == "approvals.request":
            kept = self.objects.setdefault((operation, ""), made)
            return (Decision.APPLIED if kept == made else Decision.EXISTING), kept
        if operation == "tickets.create" and key and self.protects():
            kept = self.objects.setdefault((operation, key), made)
            return (Decision.APPLIED if kept == made else Decision.REPLAYED), kept
        return Decision.APPLIED, made

    def protects(self) -> bool:
        return bool(self.variant.values) and self.variant["protection"] == "key"

    def effect(self, life: int, operation: str, number: int, made: str, body: Any, key: str | None) -> None:
        self.counts[operation] = self.counts.get(operation, 0) + 1
        self.add(
            EffectApplied,
            effect=sum(self.counts.values()),
            attempt=number,
            incarnation=life,
            target=operation.partition(".")[0],
            operation=operation,
            object_id=made,
            identity={"partner_id": "4471"},
            content=body,
            key=key,
            clock_s=self.virtual + self.clock,
        )

    def body(self, operation: str, life: int, occurrence: int) -> Any:
        return {
            "search.query": {"q": "Acme Ltd registry" if occurrence == 1 else "Acme Ltd news"},
            "model.chat": {"model": "small-1", "messages": [{"role": "user", "content": "Assess Acme Ltd."}]},
            "approvals.request": {"case": "partner-4471", "text": ASSESSMENT},
            "tickets.create": {
                "partner_id": "4471",
                "title": TITLES[(life - 1) % 3],
                "assessment": ASSESSMENT,
                "labels": ["review", "partner"],
            },
            "notify.send": {"channel": "#partner-desk", "text": "Partner 4471 was reviewed."},
        }[operation]

    def key(self, operation: str, body: Any) -> str | None:
        if operation != "tickets.create" or not self.variant.values or self.variant["key"] == "none":
            return None
        if self.variant["key"] == "fixed":
            return "partner-4471/file_ticket"
        return hashlib.sha256(json.dumps(body).encode()).hexdigest()[:24]


def judge(simulation: Simulation) -> Verdict:
    findings = []
    for operation, count in simulation.counts.items():
        if count > 1:
            findings.append(_duplicate(simulation, operation, count))
    paid: dict[str, int] = {}
    for event in simulation.events:
        if isinstance(event, AttemptReceived) and event.paid:
            paid[event.operation] = paid.get(event.operation, 0) + 1
    for operation, count in paid.items():
        extra = count - 2 - 1  # one in flight may be repeated
        if extra > 0:
            noun = OPERATIONS[operation].noun[extra > 1]
            findings.append(
                Finding(
                    kind=VerdictKind.WASTED,
                    code="wasted",
                    summary=f"{extra} {noun} repeated that had been answered",
                    operation=operation,
                    detail={
                        "expected": 2,
                        "seen": count,
                        "extra": extra,
                        "cost": round(extra * OPERATIONS[operation].price, 2),
                        "currency": "USD",
                    },
                )
            )
    return Verdict.of(findings)


def _duplicate(simulation: Simulation, operation: str, count: int) -> Finding:
    effects = [e for e in simulation.events if isinstance(e, EffectApplied) and e.operation == operation]
    keys = [effect.key for effect in effects]
    sent = all(keys)
    noun = OPERATIONS[operation].noun
    return Finding(
        kind=VerdictKind.DUPLICATE,
        code="duplicate",
        summary=f"{count} {noun[1]} for partner 4471" if count > 2 else f"Two {noun[1]} for partner 4471",
        evidence=tuple(effect.seq for effect in effects),
        operation=operation,
        identity={"partner_id": "4471"},
        attribution=Attribution(
            key_sent=sent,
            key_stable=len(set(keys)) == 1 if sent else None,
            target_honours_keys=simulation.protects() and operation == "tickets.create",
            window_exceeded=False,
            worker="It sent a key made from the request, and the request was worded anew."
            if sent
            else "It sent no key.",
            engine="It resumed behind its last checkpoint, as documented.",
            target="It would have recognised a key." if simulation.protects() else "It looks at nothing.",
            preventable_by=("worker", "target"),
            fix="Choose the key before the model speaks, from workflow and step, and send it with the request.",
        ),
        detail={"expected": 1, "seen": count, "extra": count - 1},
    )


def variants() -> list[Variant]:
    names = [axis.name for axis in AXES]
    return [
        Variant(values=tuple(zip(names, values, strict=True)))
        for values in product(*([value.name for value in axis.values] for axis in AXES))
    ]


def points() -> list[CrashPoint]:
    found, occurrences = [], dict[str, int]()
    for operation, checkpoint in STEPS:
        occurrences[operation] = occurrences.get(operation, 0) + 1
        found += [f"{operation}#{occurrences[operation]}:{phase}" for phase in ROW_PHASES[operation]]
        if checkpoint:
            found += [f"{checkpoint}#1:committing", f"{checkpoint}#1:committed"]
    return [CrashPoint.parse(point) for point in found]


def expectation(variant: Variant) -> Expectation:
    simulation = Simulation(variant=variant, schedule=UNDISTURBED)
    reached = [event.point_text for event in simulation.run() if isinstance(event, BoundaryReached)]
    return Expectation(
        operations=OPERATIONS,
        effects=tuple(
            ExpectedEffect(operation=name, identity={"partner_id": "4471"}, count=1, assumed=name == "notify.send")
            for name, facts in OPERATIONS.items()
            if facts.effectful
        ),
        paid_counts={"search.query": 2, "model.chat": 2},
        points=tuple(dict.fromkeys(reached)),
    )


def cell(variant: Variant, schedule: Schedule) -> CellResult:
    simulation = Simulation(variant=variant, schedule=schedule)
    events = simulation.run()
    return CellResult(
        scenario="partner-review",
        variant=variant,
        schedule=schedule,
        verdict=judge(simulation),
        incarnations=sum(isinstance(event, IncarnationStarted) for event in events),
        effects=dict(simulation.counts),
        duration_s=1.25,
        settling="settled" if schedule.faults else "",
        history=tuple(event_to_json(event) for event in events),
    )


def run_info(**changes: Any) -> RunInfo:
    columns = variants()
    values: dict[str, Any] = {
        "scenario": "partner-review",
        "title": "Partner review",
        "about": "A bank's agent searches, assesses a partner, has the text approved, files a ticket and notifies.",
        "versions": {"ackgap": "0.1.0", "python": "3.12.1", "platform": "Linux x86_64", "langgraph": "1.2.24"},
        "started_at": "2026-07-03T10:00:00+02:00",
        "command": "ackgap run langgraph-ticket --out reports/partner-review",
        "axes": AXES,
        "variants": tuple(columns),
        "row_order": tuple(
            RowInfo.of(Schedule.kill(point), noun=OPERATIONS[point.name].noun[0] if point.name in OPERATIONS else "")
            for point in points()
        ),
        "expectations": {str(variant): expectation(variant) for variant in columns},
        "planned_cells": sum(1 for variant in columns for _ in schedules(variant)),
        "not_applicable": 10,
        "notes": ("The count of notifications was taken from the probe: nobody described that service.",),
        "replay_prefix": "ackgap replay reports/partner-review",
    }
    return RunInfo(**(values | changes))


def schedules(variant: Variant) -> list[Schedule]:
    reached = set(expectation(variant).points)
    return [UNDISTURBED, *(Schedule.kill(point) for point in points() if str(point) in reached)]


def results() -> list[CellResult]:
    return [cell(variant, schedule) for variant in variants() for schedule in schedules(variant)]


def deeper_results() -> list[CellResult]:
    """Return a run of depth 2 in two variants: second crashes, a race, another order of writes, equal states."""
    columns = [
        Variant(values=(("durability", "sync"), ("key", key), ("protection", "key"))) for key in ("payload", "fixed")
    ]
    found = []
    for variant in columns:
        found += [cell(variant, schedule) for schedule in schedules(variant)]
        for first, life in (("tickets.create#1:applied", 2), ("langgraph.put.step3#1:committed", 2)):
            found += [
                cell(variant, Schedule.parse(f"kill@{first};{life}.kill@{point}"))
                for point in SECOND_CRASHES
                if point in expectation(variant).points
            ]
        raced = cell(variant, Schedule.parse("kill@tickets.create#1:returned"))
        counts = {"duplicate": 3, "ok": 17} if raced.verdict.kind is VerdictKind.DUPLICATE else {"ok": 20}
        found.append(
            replace(
                raced,
                schedule=Schedule.parse("kill@tickets.create#1:returned,unsettled=20"),
                settling="unsettled",
                rate=Rate(counts=counts),
            )
        )
    return [_equal(result) for result in found] + [_swapped(columns[1])]


SECOND_CRASHES = (
    "tickets.create#1:received",
    "tickets.create#1:applied",
    "tickets.create#1:returned",
    "notify.send#1:applied",
)


def _equal(result: CellResult) -> CellResult:
    """Return a cell of a state that the one before it has as something that was not run."""
    if result.schedule.label != "langgraph.put_writes.file_ticket#1:committing":
        return result
    other = replace(result, schedule=Schedule.parse("tickets.create#1:returned"))
    return replace(result, equal_to=other.cell, history=())


def _swapped(variant: Variant) -> CellResult:
    """Return a kill with two durable writes in the other order, which is a loss."""
    name = "langgraph.put_writes.file_ticket"
    usual = cell(variant, Schedule.parse(f"kill@{name}#1:committed"))
    order = Finding(kind=None, code="order_dependent", summary="The order of two durable writes decides")
    lost = Finding(kind=VerdictKind.LOST, code="lost", summary="The ticket never happened", operation="tickets.create")
    held = f"hold@langgraph.put.step3#1:committing,until={name}#1;kill@{name}#1:committed"
    return replace(usual, schedule=Schedule.parse(held), verdict=Verdict.of([lost, order]))


def overlapping(schedule: str, script: str) -> CellResult:
    """Return a cell of lives that overlap, from a script such as `1> POST STOP 2> POST EXIT 1> WAKE ANSWER EXIT`.

    Each word is one event of the life that speaks: POST, APPLY, ANSWER, WRITE, STOP, KILL, WAKE, EXIT.
    """
    told = Overlap(schedule)
    for word in script.split():
        if word.endswith(">"):
            told.speak(int(word[:-1]))
        else:
            getattr(told, word.lower())()
    return CellResult(
        scenario="partner-review",
        variant=Variant(values=(("durability", "sync"), ("key", "none"), ("protection", "none"))),
        schedule=Schedule.parse(schedule),
        verdict=Verdict.of([]),
        incarnations=len(told.lives),
        effects={"tickets.create": told.effects},
        settling="settled",
        history=tuple(event_to_json(event) for event in told.events),
    )


class Overlap:
    def __init__(self, schedule: str) -> None:
        self.fault = str(Schedule.parse(schedule).faults[0])
        self.events: list[Event] = []
        self.lives: list[int] = []
        self.life = self.effects = 0

    def add(self, kind: type[Any], **values: Any) -> None:
        self.events.append(kind(seq=len(self.events) + 1, at_s=len(self.events) / 100, **values))

    def speak(self, life: int) -> None:
        self.life = life
        if life not in self.lives:
            self.lives.append(life)
            self.add(IncarnationStarted, incarnation=life, pid=100 + life, command=("python", "worker.py"))

    def post(self) -> None:
        self.add(
            AttemptReceived,
            attempt=self.life,
            incarnation=self.life,
            target="tickets",
            operation="tickets.create",
            occurrence=1,
            method="POST",
            path="/tickets",
            effectful=True,
        )

    def apply(self) -> None:
        self.effects += 1
        self.add(
            EffectApplied,
            effect=self.effects,
            attempt=self.life,
            incarnation=self.life,
            target="tickets",
            operation="tickets.create",
            object_id=f"T-{self.effects}",
            identity={"partner_id": "4471"},
        )

    def answer(self) -> None:
        self.add(AttemptAnswered, attempt=self.life, status=201, decision=Decision.APPLIED)

    def write(self) -> None:
        for phase in (Phase.COMMITTING, Phase.COMMITTED):
            self.add(
                BoundaryReached,
                incarnation=self.life,
                name="journal",
                occurrence=1,
                phase=phase,
                boundary_kind=BoundaryKind.CHECKPOINT,
                source=Injector.PYTHON,
            )

    def stop(self) -> None:
        self.add(FaultInjected, incarnation=self.life, fault=self.fault, settling=Settling.SETTLED)

    def kill(self) -> None:
        self.stop()
        self.add(IncarnationEnded, incarnation=self.life, exit_code=None, signal=9, by_harness=True)

    def wake(self) -> None:
        self.add(Note, code="woken", text=f"life {self.life} woke up", incarnation=self.life)

    def exit(self) -> None:
        self.add(IncarnationEnded, incarnation=self.life, exit_code=0, signal=None, by_harness=False)


def write(directory: Path, *, cells: list[CellResult] | None = None, **changes: Any) -> Path:
    with RunWriter(directory) as writer:
        writer.write_run(run_info(**changes))
        for item in results() if cells is None else cells:
            writer.append(item)
    return directory


def with_finding(result: CellResult, kind: VerdictKind, summary: str, operation: str = "") -> CellResult:
    finding = Finding(kind=kind, code=kind.value, summary=summary, operation=operation)
    return replace(result, verdict=Verdict.of([finding]))


if __name__ == "__main__":
    import sys

    write(Path(sys.argv[1]))
