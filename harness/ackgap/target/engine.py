"""Engine: one service in one cell. It decides about attempts, changes its state and makes answers; it does no I/O.

`decide` is one step that nothing interrupts: look at what is remembered, apply, remember. What a protection needs to
know once the answer is out is told by `complete`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ackgap.model.event import Decision, Json
from ackgap.target.answer import Answer, answer_from, json_answer
from ackgap.target.behaviour import BEHAVIOURS, Context
from ackgap.target.clock import VirtualClock, iso_time
from ackgap.target.payload import REDACTED, fingerprint, safe
from ackgap.target.profile import AnswerSpec, KeyRule, Match, Operation, Profile, Protection, is_effectful
from ackgap.target.protection import (
    KeyRecord,
    begin_key,
    complete_key,
    judge_key,
    judge_natural_key,
    key_of,
    natural_key_of,
    scope_of,
)
from ackgap.target.request import MISSING, Request
from ackgap.target.state import State

__all__ = ["Engine", "Handled"]

_DEFAULT_ERRORS: Mapping[str, AnswerSpec] = {
    "unknown_path": AnswerSpec(status=404, body={"error": "no such path", "path": "{path.name}"}),
    "wrong_method": AnswerSpec(status=405, body={"error": "method not allowed", "path": "{path.name}"}),
    "malformed": AnswerSpec(status=400, body={"error": "{problem}"}),
    "too_large": AnswerSpec(status=413, body={"error": "{problem}"}),
    "not_found": AnswerSpec(status=404, body={"error": "not found"}),
    "invalid": AnswerSpec(status=422, body={"error": "{problem}"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenKey:
    """A key whose first request is being worked on."""

    rule: KeyRule
    place: tuple[str, str]
    record: KeyRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What a service did with an attempt.

    Attributes:
        effect_object_id: Of the effect that it became; None where it became none.
        identity: Of that effect.
        cost: Of the attempt, in the profile's currency.
    """

    decision: Decision
    rule: str
    answer: Answer
    effect_object_id: str | None = None
    identity: Mapping[str, Json] = field(default_factory=dict)
    cost: float = 0.0
    open_key: _OpenKey | None = None


class Engine:
    """One service in one cell.

    Args:
        profile: What the service does.
        target: The scenario's name for it.
        protection: How it treats repeats.
        settings: Values for all of the profile's settings.
        reads: Globs of operations that are reads although the profile says otherwise.
        clock: Virtual time.
        drift: Shifts the wording of scripted models.
    """

    def __init__(
        self,
        *,
        profile: Profile,
        target: str,
        protection: Protection,
        settings: Mapping[str, Json],
        reads: tuple[str, ...],
        clock: VirtualClock,
        drift: int,
    ) -> None:
        self.profile = profile
        self.target = target
        self.protection = protection
        self.settings = settings
        self.clock = clock
        self.state = State()
        self._reads = reads
        self._drift = drift

    def is_effectful(self, operation: Operation) -> bool:
        """Whether an operation changes the outside world, as the scenario sees it."""
        return is_effectful(operation, f"{self.target}.{operation.name}", self._reads)

    def error(self, name: str, *, problem: str = "", path: str = "") -> Answer:
        """Return an error in the service's own shape."""
        spec = self.profile.errors.get(name) or _DEFAULT_ERRORS[name]
        return answer_from(spec, {"problem": problem, "path": {"name": path}, **self._now_values()})

    def decide(self, match: Match, request: Request, *, incarnation: int = 1, occurrence: int = 1) -> Handled:
        """Decide about an attempt, and apply it if it is to be applied.

        Args:
            match: The operation it means.
            request: The attempt.
            incarnation: The life that sent it; only scripted models look at it.
            occurrence: The how-manieth of its operation in that life.
        """
        operation = match.operation
        context = self._context(operation, request, incarnation, occurrence)
        if request.problem and self.profile.described and operation.does != "answer":
            answer = self.error("malformed", problem=request.problem, path=request.path)
            return Handled(decision=Decision.MALFORMED, rule=request.problem, answer=answer)
        if not operation.effect:
            return self._read(operation, context)
        rule = self.protection.key_rule_for(operation)
        key = key_of(rule, request) if rule else None
        if rule is None or key is None:
            return self._apply(operation, context)
        place = (scope_of(rule, request), key)
        now_s = self.clock.now_s()
        ruling = judge_key(rule, self.state.keys.get(place), request, context.values, now_s)
        if ruling is not None:
            return Handled(decision=ruling.decision, rule=ruling.rule, answer=ruling.answer)
        open_key = _OpenKey(rule=rule, place=place, record=begin_key(rule, request, now_s))
        return self._apply(operation, context, open_key)

    def complete(self, handled: Handled) -> None:
        """Take note that an attempt is done: its key now has an answer.

        Also to be called when the client is gone: a service finishes what it has begun.
        """
        opened = handled.open_key
        if opened is None or self.state.keys.get(opened.place) is not opened.record:
            return
        record = complete_key(opened.rule, opened.record, handled.answer, self.clock.now_s())
        if record is None:
            del self.state.keys[opened.place]
        else:
            self.state.keys[opened.place] = record

    def _read(self, operation: Operation, context: Context) -> Handled:
        problem = self._missing(operation, context.request)
        if problem:
            return Handled(decision=Decision.REJECTED, rule=problem, answer=self._invalid(operation, context, problem))
        outcome = self._outcome(operation, context)
        done = BEHAVIOURS[operation.does](context) if outcome is None else None
        answer = done.answer if done else outcome[0] if outcome else json_answer(204, None)
        price = done.cost if done and done.cost is not None else context.price
        cost = price if operation.paid and answer.status < 400 else 0.0
        return Handled(decision=Decision.READ, rule="a read", answer=answer, cost=cost)

    def _apply(self, operation: Operation, context: Context, open_key: _OpenKey | None = None) -> Handled:
        problem = self._missing(operation, context.request)
        if problem:
            answer = self._invalid(operation, context, problem)
            if open_key is not None and open_key.rule.stores != "all":
                open_key = None
            return self._opened(Handled(decision=Decision.REJECTED, rule=problem, answer=answer, open_key=open_key))
        existing = self._existing(operation, context, open_key)
        if existing is not None:
            return existing
        outcome = self._outcome(operation, context)
        if outcome is not None and not outcome[1]:
            return self._opened(
                Handled(decision=Decision.REJECTED, rule="the service says no", answer=outcome[0], open_key=open_key)
            )
        done = BEHAVIOURS[operation.does](context)
        if done.existing:
            handled = Handled(decision=Decision.EXISTING, rule=done.existing, answer=done.answer, open_key=open_key)
        elif not done.applied:
            handled = Handled(decision=Decision.REJECTED, rule="not found", answer=done.answer, open_key=open_key)
        else:
            effectful = self.is_effectful(operation)
            handled = Handled(
                decision=Decision.APPLIED if effectful else Decision.READ,
                rule=self._first_rule(open_key) if effectful else "declared to be a read",
                answer=outcome[0] if outcome else done.answer,
                effect_object_id=done.object_id if effectful else None,
                identity=self._identity(operation, context.request),
                cost=context.price if operation.paid else 0.0,
                open_key=open_key,
            )
        return self._opened(handled)

    def _opened(self, handled: Handled) -> Handled:
        if handled.open_key is not None:
            self.state.keys[handled.open_key.place] = handled.open_key.record
        return handled

    def _existing(self, operation: Operation, context: Context, open_key: _OpenKey | None) -> Handled | None:
        rule = self.protection.natural_rule_for(operation)
        if rule is None:
            return None
        context.natural_key = natural_key_of(rule, context.request)
        known = (
            (stored.natural_key, stored.object_id, context.view(stored))
            for stored in self.state.all_of(context.collection)
        )
        ruling = judge_natural_key(rule, context.natural_key, known, context.values)
        if ruling is None:
            return None
        return self._opened(
            Handled(decision=ruling.decision, rule=ruling.rule, answer=ruling.answer, open_key=open_key)
        )

    def _first_rule(self, open_key: _OpenKey | None) -> str:
        if open_key is not None:
            return "the first request with this key"
        if self.protection.key is not None:
            return "no key was sent"
        if self.protection.natural_key is not None:
            return "nothing like it exists"
        return "every request is applied"

    def _outcome(self, operation: Operation, context: Context) -> tuple[Answer, bool] | None:
        for outcome in operation.outcomes:
            if all(context.request.value_at(path) == value for path, value in outcome.when.items()):
                return answer_from(outcome.answer, context.values), outcome.effect
        return None

    def _missing(self, operation: Operation, request: Request) -> str:
        for path in operation.required:
            value = request.value_at(path)
            if value is MISSING or value is None or value == "":
                return f"{path.partition('.')[2] or path} is missing"
        return ""

    def _invalid(self, operation: Operation, context: Context, problem: str) -> Answer:
        if operation.invalid is not None:
            return answer_from(operation.invalid, {**context.values, "problem": problem})
        return self.error("invalid", problem=problem, path=context.request.path)

    def _identity(self, operation: Operation, request: Request) -> dict[str, Json]:
        identity: dict[str, Json] = {}
        for path in operation.identity:
            value = request.value_at(path)
            if value is MISSING:
                identity[path] = None
            elif safe({path.rpartition(".")[2]: value}) == {path.rpartition(".")[2]: REDACTED}:
                # Two secrets that differ are two identities, and neither may be read from a history.
                identity[path] = f"{REDACTED} {fingerprint([self.target, value])[:12]}"
            else:
                identity[path] = safe(value)
        return identity

    def _context(self, operation: Operation, request: Request, incarnation: int, occurrence: int) -> Context:
        price = self.settings.get("price")
        return Context(
            profile=self.profile,
            operation=operation,
            request=request,
            state=self.state,
            settings=self.settings,
            now_s=self.clock.now_s(),
            variation=self._drift + max(incarnation, 1) - 1,
            occurrence=occurrence,
            price=float(price) if isinstance(price, int | float) else operation.price,
            values={
                "payload": request.payload,
                "path": {**request.path_values, "name": request.path},
                "query": request.query,
                "setting": self.settings,
                **self._now_values(),
            },
            not_found=lambda: self._not_found(operation, request),
        )

    def _not_found(self, operation: Operation, request: Request) -> Answer:
        if operation.not_found is None:
            return self.error("not_found", path=request.path)
        values = {"path": {**request.path_values, "name": request.path}, **self._now_values()}
        return answer_from(operation.not_found, values)

    def _now_values(self) -> dict[str, Json]:
        now_s = self.clock.now_s()
        return {"clock": {"iso": iso_time(now_s), "unix": int(now_s)}}
