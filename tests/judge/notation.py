"""A miniature notation, so that a whole history is one line of a test.

    1> search.query tickets.create(4471,key=k1):applied KILL   2> tickets.create(4471,key=k1) DONE

What the worker does is in lower case, what is done to it or said about it in upper case. White space separates, `|`
and line ends are for the eye.

    1>                      life 1 starts; when it has started already, it goes on
    tickets.create          a call, through all its phases to `returned`
    tickets.create:applied  a call that stands at that phase; what follows finds it there
    tickets.create#1        a call that was left standing goes on to `returned` (or to the phase behind it)
    tickets.create(4471,key=k1,title=A)     for whom, with what key, with what other fields
    tickets.create=>replayed                what the target decides instead of applying it
    docs.put(/7,state=A)    a PUT to /docs/7; so with docs.patch and docs.delete
    [journal]  [journal]:committing         a durable write; it changes the store's digest once it is committed
    KILL  PAUSE             a fault strikes at the point that was passed last in the life that speaks
      KILL(down=72h) KILL(unsettled) KILL(quiet) KILL(exit=0) KILL(signal=15) KILL(store) KILL(vanished)
    DISCONNECT  OOM  OOM(spared)    likewise, for a worker in a container; spared: the kernel killed nothing
    TOXIC(name)             a fault of the network strikes there; the life goes on
    HEALED(name)            what it had switched on is off again
    UNHEARD                 the target answers the latest call that was left standing, and the answer is lost on its way
    DONE  EXIT(1)  DIES(11) the life ends by itself: finished; with that status; by that signal
    GAVE_UP(waiting)  DOUBT  CHECK(name,fails)  CHECK(name,broken)  CHECK(name,fails,lost)
    LATER(25h)              the targets' clock moves
    GONE                    the client closes the connection of the latest attempt while that is parked
    READY(moved)  READY(unmoved)            the injector says hello; whether the worker's clock moved along
    NOTE(code)  OUTSIDE(path)  EGRESS(host)  BLOCKS     a remark; `BLOCKS` marks the next passages as blocking a loop

Without hooks inside the worker (`hooks=False`) a history has no `sending`, `returned` and checkpoints, as with a worker
in another language; only the store's digest moves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ackgap.judge import judge
from ackgap.model.boundary import CrashPoint, Phase
from ackgap.model.event import (
    AttemptAnswered,
    AttemptDropped,
    AttemptReceived,
    BoundaryReached,
    CheckReported,
    ClientGaveUp,
    Decision,
    EffectApplied,
    EgressAttempted,
    Event,
    FaultInjected,
    GaveUp,
    IncarnationEnded,
    IncarnationStarted,
    InDoubtSurfaced,
    Injector,
    InjectorReady,
    Note,
    Settling,
    WorkFinished,
    WroteOutside,
)
from ackgap.model.expectation import Expectation, OperationFacts
from ackgap.model.history import History
from ackgap.model.manner import FaultKind, Manner
from ackgap.model.schedule import Fault, Schedule
from ackgap.model.verdict import Finding, Verdict
from ackgap.plan.census import take_census


def _described(name: str, noun: str, **more: Any) -> OperationFacts:
    return OperationFacts(name=name, noun=(noun, f"{noun}s"), effectful=True, identity=("body.partner_id",), **more)


WORLD: dict[str, OperationFacts] = {
    facts.name: facts
    for facts in (
        _described("tickets.create", "ticket"),
        _described("notify.send", "notification"),
        _described("approvals.request", "approval"),
        OperationFacts(name="tickets.find", noun=("read", "reads"), effectful=False),
        OperationFacts(
            name="search.query", noun=("search", "searches"), effectful=False, paid=True, price=0.5, currency="USD"
        ),
        OperationFacts(
            name="model.chat", noun=("model call", "model calls"), effectful=False, paid=True, price=2.0, currency="USD"
        ),
        # Nobody described these: their identity has to be learned.
        OperationFacts(name="crm.add", noun=("lead", "leads"), effectful=True),
        OperationFacts(name="docs.put", noun=("document", "documents"), effectful=True),
        OperationFacts(name="docs.patch", noun=("change", "changes"), effectful=True),
        OperationFacts(name="docs.delete", noun=("removal", "removals"), effectful=True),
    )
}


def world(operation: str, **changes: Any) -> dict[str, OperationFacts]:
    """Return the world with other facts about one operation."""
    return {**WORLD, operation: replace(WORLD[operation], **changes)}


KEYS = world("tickets.create", protection="idempotency_key", honours_keys=True, key_window_s=86400.0)
"""The ticket system honours idempotency keys for 24 hours."""


@dataclass(frozen=True)
class Run:
    """A history, and the faults that were to happen in it."""

    history: History
    schedule: Schedule


def h(text: str, *, plan: str | None = None, hooks: bool = True, facts: Mapping[str, OperationFacts] = WORLD) -> Run:
    """Build a history; `plan` is its schedule where that is not what struck."""
    writer = _Writer(facts=facts, hooks=hooks)
    for token in text.replace("|", " ").split():
        writer.write(token)
    schedule = Schedule.parse(plan) if plan is not None else Schedule(faults=tuple(writer.faults))
    return Run(history=History(events=tuple(writer.events)), schedule=schedule)


def undisturbed(text: str, **options: Any) -> History:
    """Build the history of a probe: one life that ends well."""
    return h(f"1> {text} DONE", **options).history


def expect(
    first: str,
    second: str | None = None,
    *,
    facts: Mapping[str, OperationFacts] = WORLD,
    hooks: bool = True,
    **census: Any,
) -> Expectation:
    """Take the census of two probes; the second does the same as the first unless it is given."""
    one, two = (undisturbed(text, facts=facts, hooks=hooks) for text in (first, first if second is None else second))
    return take_census(one, two, facts, **census)


def judged(
    text: str,
    probe: str,
    drifted: str | None = None,
    *,
    plan: str | None = None,
    hooks: bool = True,
    facts: Mapping[str, OperationFacts] = WORLD,
    **census: Any,
) -> Verdict:
    """Judge a history against what its undisturbed runs did."""
    run = h(text, plan=plan, hooks=hooks, facts=facts)
    return judge(run.history, expect(probe, drifted, facts=facts, hooks=hooks, **census), run.schedule)


def codes(verdict: Verdict) -> list[str]:
    """Return the codes of a verdict's findings, sorted."""
    return sorted(finding.code for finding in verdict.findings)


def only(verdict: Verdict, code: str) -> Finding:
    """Return the one finding that has a code."""
    found = [finding for finding in verdict.findings if finding.code == code]
    assert len(found) == 1, f"{len(found)} findings {code!r} in {codes(verdict)}"
    return found[0]


_LIFE = re.compile(r"(\d+)>")
_CHECKPOINT = re.compile(r"\[(?P<name>[\w.]+)\](?::(?P<phase>\w+))?")
_WORD = re.compile(r"(?P<word>[A-Z_]+)(?:\((?P<arguments>[^()]*)\))?")
_CALL = re.compile(
    r"(?P<name>[a-z]+\.[a-z]+)(?:\((?P<arguments>[^()]*)\))?(?:#(?P<occurrence>\d+))?(?:=>(?P<decision>\w+))?(?::(?P<phase>\w+))?"
)
_ORDER = (Phase.SENDING, Phase.RECEIVED, Phase.APPLIED, Phase.RETURNED)
_HOURS_S = 3600.0
_NOON_S = 1_800_000_000.0


@dataclass
class _Call:
    """A call on its way."""

    life: int
    name: str
    occurrence: int
    body: dict[str, str]
    key: str | None
    decision: Decision
    place: str
    passed: list[Phase] = field(default_factory=list)
    attempt: int = 0
    object_id: str = ""
    answered: bool = False


@dataclass
class _Writer:
    facts: Mapping[str, OperationFacts]
    hooks: bool
    events: list[Event] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    life: int = 0
    started: set[int] = field(default_factory=set)
    counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    objects: Counter[str] = field(default_factory=Counter)
    calls: list[_Call] = field(default_factory=list)
    standing: dict[int, CrashPoint] = field(default_factory=dict)
    attempts: int = 0
    effects: int = 0
    store: int = 0
    clock_s: float = _NOON_S
    blocks: bool = False

    def write(self, token: str) -> None:
        if match := _LIFE.fullmatch(token):
            self._speak(int(match[1]))
        elif match := _CHECKPOINT.fullmatch(token):
            self._checkpoint(match["name"], Phase(match["phase"] or "committed"))
        elif match := _WORD.fullmatch(token):
            arguments = [part for part in (match["arguments"] or "").split(",") if part]
            getattr(self, f"_{match['word'].lower()}")(*arguments)
        elif match := _CALL.fullmatch(token):
            self._call(match)
        else:
            raise AssertionError(f"not in the notation: {token!r}")

    def _add(self, kind: Any, **values: Any) -> None:
        self.events.append(kind(seq=len(self.events) + 1, at_s=len(self.events) / 100, **values))

    @property
    def _digest(self) -> str:
        return f"store-{self.store}"

    # ------------------------------------------------------------ the worker

    def _speak(self, life: int) -> None:
        self.life = life
        if life not in self.started:
            self.started.add(life)
            self._add(
                IncarnationStarted, incarnation=life, pid=100 + life, command=("agent",), store_digest=self._digest
            )

    def _pass(self, name: str, occurrence: int, phase: Phase, attempt: int | None = None) -> None:
        wire = phase in (Phase.RECEIVED, Phase.APPLIED)
        point = CrashPoint(name=name, occurrence=occurrence, phase=phase)
        self.standing[self.life] = point
        if wire or self.hooks:
            self._add(
                BoundaryReached,
                incarnation=self.life,
                name=name,
                occurrence=occurrence,
                phase=phase,
                boundary_kind=point.boundary.kind,
                source=Injector.WIRE if wire else Injector.PYTHON,
                attempt=attempt,
                blocks_loop=self.blocks,
                store_digest=self._digest,
            )

    def _checkpoint(self, name: str, phase: Phase) -> None:
        left = self.standing.get(self.life)
        half_done = left is not None and left.name == name and left.phase is Phase.COMMITTING
        if not half_done:
            self.counts[self.life, name] += 1
            self._pass(name, self.counts[self.life, name], Phase.COMMITTING)
        if phase is Phase.COMMITTED:
            self.store += 1
            self._pass(name, self.counts[self.life, name], Phase.COMMITTED)

    def _call(self, match: re.Match[str]) -> None:
        name, facts = match["name"], self.facts[match["name"]]
        if match["occurrence"]:
            call = next(
                call
                for call in self.calls
                if (call.life, call.name, call.occurrence) == (self.life, name, int(match["occurrence"]))
            )
        else:
            self.counts[self.life, name] += 1
            call = self._new_call(name, match["arguments"])
        if match["decision"]:
            call.decision = Decision(match["decision"])
        last = Phase(match["phase"] or "returned")
        for phase in _ORDER[len(call.passed) : _ORDER.index(last) + 1]:
            self._step(call, facts, phase)

    def _new_call(self, name: str, arguments: str | None) -> _Call:
        body, key, place = {"partner_id": "4471"}, None, ""
        for part in (arguments or "").split(","):
            field_name, equals, value = part.partition("=")
            if field_name.startswith("/"):
                place = field_name
            elif not equals:
                body["partner_id"] = part or "4471"
            elif field_name == "key":
                key = value
            else:
                body[field_name] = value
        decision = Decision.APPLIED if self.facts[name].effectful else Decision.READ
        occurrence = self.counts[self.life, name]
        call = _Call(self.life, name, occurrence, body, key, decision, place)
        self.calls.append(call)
        return call

    def _step(self, call: _Call, facts: OperationFacts, phase: Phase) -> None:
        stops = facts.effectful or facts.paid
        call.passed.append(phase)
        if phase is Phase.RECEIVED:
            self._arrive(call, facts)
        if phase is Phase.APPLIED and call.decision is Decision.APPLIED:
            self._apply(call, facts)
        if phase is Phase.RETURNED:
            self._add(
                AttemptAnswered,
                attempt=call.attempt,
                status=400 if call.decision in (Decision.REJECTED, Decision.CONFLICT) else 200,
                decision=call.decision,
                cost=facts.price,
                object_id=call.object_id,
            )
            call.answered = True
        if stops:
            self._pass(call.name, call.occurrence, phase, call.attempt or None)

    def _arrive(self, call: _Call, facts: OperationFacts) -> None:
        self.attempts += 1
        call.attempt = self.attempts
        target, _, what = call.name.partition(".")
        self._add(
            AttemptReceived,
            attempt=call.attempt,
            incarnation=call.life,
            target=target,
            operation=call.name,
            occurrence=call.occurrence,
            method=what.upper() if target == "docs" else "POST",
            path="/" + target + call.place,
            effectful=facts.effectful,
            paid=facts.paid,
            key=call.key,
            payload=dict(call.body),
            payload_digest=repr(sorted(call.body.items())),
        )

    def _apply(self, call: _Call, facts: OperationFacts) -> None:
        self.effects += 1
        self.objects[call.name] += 1
        # Who names the object in the URL writes that one each time; else each effect has one of its own.
        call.object_id = call.place.strip("/") or f"{call.name[0].upper()}-{self.objects[call.name]}"
        self._add(
            EffectApplied,
            effect=self.effects,
            attempt=call.attempt,
            incarnation=call.life,
            target=call.name.partition(".")[0],
            operation=call.name,
            object_id=call.object_id,
            identity={path: call.body.get(path.removeprefix("body.")) for path in facts.identity},
            content=dict(call.body),
            key=call.key,
            clock_s=self.clock_s,
        )

    # ------------------------------------------------- what is done to it

    def _strike(self, kind: FaultKind, options: Mapping[str, str]) -> None:
        point = self.standing[self.life]
        down_s = float(options["down"].removesuffix("h")) * _HOURS_S if "down" in options else 0.0
        fault = Fault(
            manner=Manner(kind=kind, down_s=down_s, name=options.get("name", "")), point=point, incarnation=self.life
        )
        settling = Settling.SETTLED if self.hooks else Settling.QUIET_OBSERVED
        settling = Settling.QUIET_OBSERVED if "quiet" in options else settling
        settling = Settling.UNSETTLED if "unsettled" in options else settling
        self.faults.append(fault)
        self._add(
            FaultInjected,
            incarnation=self.life,
            fault=str(fault),
            settling=settling,
            settle_s=0.01,
            store_digest=self._digest,
        )
        self.clock_s += down_s

    def _kill(self, *arguments: str) -> None:
        options = _options(arguments)
        self._strike(FaultKind.KILL, options)
        for call in self.calls:
            if call.life == self.life and call.attempt and not call.answered:
                self._drop(call)
        self.store += "store" in options
        if "vanished" in options:
            return
        number = int(options.get("signal", "9"))
        code = int(options["exit"]) if "exit" in options else None
        self._ended(exit_code=code, signal=None if code is not None else number, by_harness=True)

    def _drop(self, call: _Call) -> None:
        decided = Phase.APPLIED in call.passed
        price = self.facts[call.name].price
        self._add(
            AttemptDropped,
            attempt=call.attempt,
            decision=call.decision if decided else None,
            cost=price if decided else 0.0,
        )
        call.answered = True

    def _pause(self, *arguments: str) -> None:
        self._strike(FaultKind.PAUSE, _options(arguments))

    def _disconnect(self, *arguments: str) -> None:
        self._strike(FaultKind.DISCONNECT, _options(arguments))

    def _oom(self, *arguments: str) -> None:
        self._strike(FaultKind.OOM, {})
        self._ended(exit_code=None, signal=9, by_harness=True, out_of_memory="spared" not in arguments)

    def _toxic(self, name: str) -> None:
        self._strike(FaultKind.TOXIC, {"name": name})

    def _healed(self, name: str) -> None:
        self._add(Note, code="toxic_off", text=f"network: {name} is off again: its time is over", incarnation=1)

    def _unheard(self) -> None:
        call = next(call for call in reversed(self.calls) if call.attempt and not call.answered)
        self._add(AttemptAnswered, attempt=call.attempt, status=200, decision=call.decision, object_id=call.object_id)
        call.answered = True

    def _ended(
        self, *, exit_code: int | None, signal: int | None, by_harness: bool = False, out_of_memory: bool = False
    ) -> None:
        self._add(
            IncarnationEnded,
            incarnation=self.life,
            exit_code=exit_code,
            signal=signal,
            by_harness=by_harness,
            store_digest=self._digest,
            out_of_memory=out_of_memory,
        )

    def _exit(self, code: str) -> None:
        self._ended(exit_code=int(code), signal=None)

    def _dies(self, number: str) -> None:
        self._ended(exit_code=None, signal=int(number))

    def _done(self) -> None:
        self._exit("0")
        self._add(WorkFinished, incarnation=self.life, how="the worker exited with status 0")

    def _gave_up(self, reason: str) -> None:
        self._add(GaveUp, reason=reason, text=f"no end within the limits ({reason})")

    def _doubt(self) -> None:
        self._add(InDoubtSurfaced, incarnation=self.life, text="I do not know whether the ticket was filed")

    def _check(self, name: str, outcome: str, verdict: str = "diverged") -> None:
        passed = {"holds": True, "fails": False, "broken": None}[outcome]
        self._add(CheckReported, name=name, passed=passed, text=f"{name} says so", verdict=verdict)

    def _later(self, duration: str) -> None:
        self.clock_s += float(duration.removesuffix("h")) * _HOURS_S

    def _gone(self) -> None:
        self._add(ClientGaveUp, incarnation=self.life, attempt=self.attempts)

    def _ready(self, clock: str) -> None:
        self._add(
            InjectorReady, incarnation=self.life, pid=100 + self.life, python="3.12", clock_moved=clock == "moved"
        )

    def _note(self, code: str) -> None:
        self._add(Note, code=code, text=f"a note about {code}", incarnation=self.life)

    def _outside(self, path: str) -> None:
        self._add(WroteOutside, incarnation=self.life, path=path)

    def _egress(self, host: str) -> None:
        self._add(EgressAttempted, incarnation=self.life, host=host, allowed=False)

    def _blocks(self) -> None:
        self.blocks = True


def _options(arguments: tuple[str, ...]) -> dict[str, str]:
    pairs = (argument.partition("=") for argument in arguments)
    return {name: value for name, _, value in pairs}
