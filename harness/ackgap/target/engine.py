"""Engine: one service in one cell. It decides about attempts, changes its state and makes answers; it does no I/O.

`decide` is one step that nothing interrupts: look at what is remembered, apply, remember. What a protection needs to
know once the answer is out is told by `complete`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import NAMESPACE_URL, uuid5

from ackgap.model.event import Decision, Json
from ackgap.target.behaviour import BEHAVIOURS, Context, Done, answer_about, overwrite
from ackgap.target.clock import VirtualClock, iso_time
from ackgap.target.profiles.facts import is_effectful
from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.profile import Match, Profile
from ackgap.target.profiles.rules import KeyRule, Protection
from ackgap.target.protection.conditional import judge_condition, states_condition
from ackgap.target.protection.keys import (
    KeyRecord,
    Ruling,
    Then,
    begin_key,
    complete_key,
    is_forgotten,
    judge_key,
    key_of,
    key_problem,
    scope_of,
)
from ackgap.target.protection.natural import judge_natural_key, natural_key_of
from ackgap.target.state import State
from ackgap.target.wire.answer import Answer, AnswerSpec, answer_from, json_answer
from ackgap.target.wire.payload import fingerprint, safe_at
from ackgap.target.wire.request import MISSING, Request, dig

__all__ = ["Engine", "Handled"]

_DEFAULT_ERRORS: Mapping[str, AnswerSpec] = {
    "unknown_path": AnswerSpec(status=404, body={"error": "no such path", "path": "{path.name}"}),
    "wrong_method": AnswerSpec(status=405, body={"error": "method not allowed", "path": "{path.name}"}),
    "malformed": AnswerSpec(status=400, body={"error": "{problem}"}),
    "too_large": AnswerSpec(status=413, body={"error": "{problem}"}),
    "not_found": AnswerSpec(status=404, body={"error": "not found"}),
    "invalid": AnswerSpec(status=422, body={"error": "{problem}"}),
    "rate_limited": AnswerSpec(status=429, body={"error": "too many requests"}, headers={"Retry-After": "1"}),
    "unavailable": AnswerSpec(status=503, body={"error": "the service is not available"}),
}
_LIKE: Mapping[str, tuple[str, ...]] = {
    "too_large": ("malformed", "invalid"),
    "malformed": ("invalid",),
    "invalid": ("malformed",),
    "wrong_method": ("unknown_path",),
}
"""Errors in whose shape an error is told that a profile has no shape for."""

KeyPlace = tuple[str, str]
"""Key space and key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenKey:
    """A key whose first request is being worked on."""

    rule: KeyRule
    place: KeyPlace
    record: KeyRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What a service did with an attempt.

    Attributes:
        effect_object_id: Of the effect that it became; None where it became none.
        identity: Of that effect.
        cost: Of the attempt, in the profile's currency.
        made: Collection and id of the object that it speaks of.
        passes_s: Virtual time that goes by once it is answered.
        waits_for: The attempt is to be decided again once this key's first request is done.
    """

    decision: Decision
    rule: str
    answer: Answer
    effect_object_id: str | None = None
    identity: Mapping[str, Json] = field(default_factory=dict)
    cost: float = 0.0
    made: tuple[str, str] | None = None
    passes_s: float = 0.0
    waits_for: KeyPlace | None = None
    open_key: _OpenKey | None = None
    busy: tuple[str, str, int] | None = None


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
        self.stale_s = 0.0
        """Lag of lookups beyond the service's own, in virtual seconds."""
        self._reads = reads
        self._drift = drift

    def is_effectful(self, operation: Operation) -> bool:
        """Whether an operation changes the outside world, as the scenario sees it."""
        return is_effectful(operation, f"{self.target}.{operation.name}", self._reads)

    def error(self, name: str, *, problem: str = "", path: str = "") -> Answer:
        """Return an error in the service's own shape."""
        default = _DEFAULT_ERRORS[name]
        own = self.profile.errors
        spec = own.get(name) or next((own[other] for other in _LIKE.get(name, ()) if other in own), default)
        answer = answer_from(spec, {"problem": problem, "path": {"name": path}, **self._now_values()})
        return answer if name in own else replace(answer, status=default.status)

    def fault_answer(self, status: int, path: str) -> Answer:
        """Return an answer that a fault gives in the service's place, in its own shape where that is known."""
        answer = self.error("rate_limited" if status == 429 else "unavailable", path=path)
        return replace(answer, status=status)

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
        if rule is None or rule.ignored:
            return self._apply(operation, context)
        key = key_of(rule, request)
        if key is None:
            if rule.missing is None:
                return self._apply(operation, context)
            answer = answer_from(rule.missing, context.values)
            return Handled(decision=Decision.REJECTED, rule="the key is missing", answer=answer)
        return self._keyed(operation, context, rule, key)

    def _keyed(self, operation: Operation, context: Context, rule: KeyRule, key: str) -> Handled:
        context.values = {**context.values, "key": key}
        refused = key_problem(rule, key)
        if refused is not None:
            answer = answer_from(refused[1], context.values)
            return Handled(decision=Decision.REJECTED, rule=refused[0], answer=answer)
        place, now_s = (scope_of(rule, context.request), key), self.clock.now_s()
        record = self._remembered(rule, place, now_s)
        ruling = judge_key(rule, record, context.request, context.values)
        if ruling is None or record is None:
            opened = _OpenKey(rule=rule, place=place, record=begin_key(rule, context.request, now_s))
            return self._apply(operation, context, opened)
        return self._ruled(ruling, context, record, place)

    def _remembered(self, rule: KeyRule, place: KeyPlace, now_s: float) -> KeyRecord | None:
        record = self.state.keys.get(place)
        if record is None:
            return None
        ended_s = self.state.ended.get(record.object) if record.object else None
        return None if is_forgotten(rule, record, now_s, object_ended_s=ended_s) else record

    def _ruled(self, ruling: Ruling, context: Context, record: KeyRecord, place: KeyPlace) -> Handled:
        """Do what is left to do about a ruling."""
        if ruling.then is Then.WAIT:
            return Handled(decision=ruling.decision, rule=ruling.rule, answer=ruling.answer, waits_for=place)
        done: Done | None = None
        if record.object is not None and ruling.then in (Then.CURRENT, Then.DROP):
            done = answer_about(context, record.object, as_sent=ruling.then is Then.DROP)
        elif record.object is not None and ruling.then is Then.OVERWRITE:
            done = overwrite(context, record.object)
        if done is None:
            return Handled(decision=ruling.decision, rule=ruling.rule, answer=ruling.answer)
        marks = tuple(header for header in ruling.answer.headers if header[0].lower() != "content-type")
        marked = replace(done.answer, headers=(*done.answer.headers, *_new_headers(done.answer, marks)))
        return Handled(decision=ruling.decision, rule=ruling.rule, answer=marked)

    def complete(self, handled: Handled) -> None:
        """Take note that an attempt is done: its key now has an answer.

        Also to be called when the client is gone: a service finishes what it has begun.
        """
        if handled.busy is not None:
            self.state.busy.discard(handled.busy)
        opened = handled.open_key
        if opened is None or self.state.keys.get(opened.place) is not opened.record:
            return
        record = complete_key(opened.rule, opened.record, handled.answer, self.clock.now_s(), handled.made)
        if record is None:
            del self.state.keys[opened.place]
        else:
            self.state.keys[opened.place] = record

    def is_working_on(self, place: KeyPlace) -> bool:
        """Whether the first request with a key is not done yet."""
        record = self.state.keys.get(place)
        return record is not None and record.answer is None

    def _read(self, operation: Operation, context: Context) -> Handled:
        problem = self._missing(operation, context.request)
        if problem:
            return Handled(decision=Decision.REJECTED, rule=problem, answer=self._invalid(operation, context, problem))
        outcome = self._outcome(operation, context)
        done = BEHAVIOURS[operation.does](context) if outcome is None else None
        answer = done.answer if done else outcome[0] if outcome else json_answer(204, None)
        price = done.cost if done and done.cost is not None else context.price
        cost = price if operation.paid else 0.0
        if operation.paid and answer.status >= 400:  # nothing was delivered, and nothing is charged
            return Handled(decision=Decision.REJECTED, rule="the service says no", answer=answer)
        passes_s = context.next_change_s() if operation.passes_time else 0.0
        return Handled(decision=Decision.READ, rule="a read", answer=answer, cost=cost, passes_s=passes_s)

    def _apply(self, operation: Operation, context: Context, open_key: _OpenKey | None = None) -> Handled:
        problem = self._missing(operation, context.request)
        if problem:
            answer = self._invalid(operation, context, problem)
            if open_key is not None and open_key.rule.stores != "all":
                open_key = None
            refused = Handled(decision=Decision.REJECTED, rule=problem, answer=answer, open_key=open_key)
            return self._opened(refused, context)
        existing = self._conditional(operation, context, open_key) or self._existing(operation, context, open_key)
        if existing is not None:
            return existing
        outcome = self._outcome(operation, context)
        if outcome is not None and not outcome[1]:
            answer = outcome[0]
            refused = Handled(decision=Decision.REJECTED, rule="the service says no", answer=answer, open_key=open_key)
            return self._opened(refused, context)
        done = BEHAVIOURS[operation.does](context)
        if done.existing:
            handled = Handled(decision=Decision.EXISTING, rule=done.existing, answer=done.answer, open_key=open_key)
        elif not done.applied:
            handled = Handled(decision=Decision.REJECTED, rule="not found", answer=done.answer, open_key=open_key)
        else:
            effectful = self.is_effectful(operation)
            handled = Handled(
                decision=Decision.APPLIED if effectful else Decision.READ,
                rule=self._first_rule(operation, open_key) if effectful else "declared to be a read",
                answer=outcome[0] if outcome else done.answer,
                effect_object_id=done.object_id if effectful else None,
                identity=self.identity_of(operation, context.request),
                cost=context.price if operation.paid else 0.0,
                made=(context.collection, done.object_id) if done.object_id else None,
                open_key=open_key,
                busy=self._busy(operation, context),
            )
        return self._opened(handled, context)

    def _opened(self, handled: Handled, context: Context) -> Handled:
        """Remember that a request is being worked on, and mark its answer as the first one with its key."""
        opened = handled.open_key
        if opened is not None:
            self.state.keys[opened.place] = opened.record
            spec = AnswerSpec(status=handled.answer.status, headers=opened.rule.first_headers)
            marks = answer_from(spec, context.values).headers
            handled = replace(handled, answer=replace(handled.answer, headers=(*handled.answer.headers, *marks)))
        if handled.busy is not None:
            self.state.busy.add(handled.busy)
        return handled

    def _busy(self, operation: Operation, context: Context) -> tuple[str, str, int] | None:
        rules = self.protection.conditions_for(operation)
        held = any(states_condition(rule, context.request) for rule in rules if rule.concurrent is not None)
        return (*context.object_place, self.state.next_number("conditional write")) if held else None

    def _conditional(self, operation: Operation, context: Context, open_key: _OpenKey | None) -> Handled | None:
        for rule in self.protection.conditions_for(operation):
            collection, object_id = place = context.object_place
            stored = self.state.get(collection, object_id)
            ruling = judge_condition(
                rule,
                context.request,
                exists=stored is not None,
                entity_tag=entity_tag(stored.document) if stored is not None else "",
                busy=any(held[:2] == place for held in self.state.busy),
                values=context.values,
            )
            if ruling is not None:
                ruled = Handled(decision=ruling.decision, rule=ruling.rule, answer=ruling.answer, open_key=open_key)
                return self._opened(ruled, context)
        return None

    def _existing(self, operation: Operation, context: Context, open_key: _OpenKey | None) -> Handled | None:
        rules = self.protection.natural_rules_for(operation)
        for rule in rules:
            natural_key = natural_key_of(rule, context.request)
            context.natural_keys |= {natural_key} if natural_key else set()
            known = (
                (stored.natural_keys, stored.object_id, context.view(stored), stored.created_s)
                for stored in self.state.all_of(context.collection)
            )
            ruling = judge_natural_key(rule, natural_key, known, context.values, self.clock.now_s())
            if ruling is not None:
                ruled = Handled(decision=ruling.decision, rule=ruling.rule, answer=ruling.answer, open_key=open_key)
                return self._opened(ruled, context)
        return None

    def _first_rule(self, operation: Operation, open_key: _OpenKey | None) -> str:
        if open_key is not None:
            return "the first request with this key"
        rule = self.protection.key_rule_for(operation)
        if rule is not None:
            return "keys are accepted and ignored" if rule.ignored else "no key was sent"
        if self.protection.natural_rules_for(operation):
            return "nothing like it exists"
        return "every request is applied"

    def _outcome(self, operation: Operation, context: Context) -> tuple[Answer, bool] | None:
        if not operation.outcomes and operation.several is None:
            return None
        named = [context.view(stored) for stored in context.named_objects()]
        values: dict[str, Json] = {**context.values, "items": named, "count": len(named)}
        if operation.several is not None and len(named) > 1:
            return answer_from(operation.several, values), False
        state: dict[str, Json] = {"object": named[0]} if named else {}
        for outcome in operation.outcomes:
            met = all(
                (dig(state, path) if path.startswith("object") else context.request.value_at(path)) == value
                for path, value in outcome.when.items()
            )
            if met and not (outcome.absent and named):
                return answer_from(outcome.answer, {**values, **state}), outcome.effect
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

    def identity_of(self, operation: Operation, request: Request) -> dict[str, Json]:
        """Return what makes two effects of an operation the same logical action, of this request."""
        identity: dict[str, Json] = {}
        # A service may be named by its own URL, as a queue is, and listens elsewhere in each cell.
        own, name = f"://{request.headers.get('host') or self.target}/", f"://{self.target}/"
        for path in operation.identity:
            value = request.value_at(path)
            value = value.replace(own, name) if isinstance(value, str) else value
            if value is MISSING:
                identity[path] = None
            else:
                identity[path] = safe_at(path.rpartition(".")[2], value)
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
            restarted=incarnation > 1,
            stale_s=self.stale_s,
            price=float(price) if isinstance(price, int | float) else operation.price,
            values={
                "payload": request.payload,
                "path": {**request.path_values, "name": request.path},
                "query": request.query,
                "header": request.headers,
                "graphql": request.graphql,
                "raw": request.body.decode("utf-8", "surrogateescape"),
                "attempt": {"id": _attempt_id(self.target, operation.name, incarnation, occurrence)},
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


def _new_headers(answer: Answer, headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    known = {name.lower() for name, _ in answer.headers}
    return tuple(header for header in headers if header[0].lower() not in known)


def entity_tag(document: Json) -> str:
    """Return the entity tag of an object: its own `etag`, else a digest of all of it."""
    own = document.get("etag") if isinstance(document, Mapping) else None
    return str(own).strip('"') if own else fingerprint(document)[:32]


def _attempt_id(*parts: str | int) -> str:
    return str(uuid5(NAMESPACE_URL, " ".join(map(str, parts))))
