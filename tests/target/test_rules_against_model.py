"""Random rules and random requests: the engine and a model that is written as plainly as possible agree on everything.

The models share no code with the engine. Each knows the rule, what it has seen, and the time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ackgap.model.event import Decision
from ackgap.target.clock import VirtualClock
from ackgap.target.engine import Engine
from ackgap.target.profiles.operation import Filter, Operation, Outcome, Page
from ackgap.target.profiles.profile import Profile
from ackgap.target.profiles.rules import ConditionRule, KeyRule, NaturalKeyRule, Protection
from ackgap.target.wire.answer import AnswerSpec
from ackgap.target.wire.request import Request

BUSY, OTHER, MISSING_KEY = AnswerSpec(status=409), AnswerSpec(status=422), AnswerSpec(status=400)
FORM, LONG = AnswerSpec(status=441), AnswerSpec(status=442)
BOOM, LATE, INVALID = AnswerSpec(status=500), AnswerSpec(status=503), AnswerSpec(status=499)
EFFECTFUL = {"effect": True, "noun": ("thing", "things"), "collection": "things"}


def profile(protection: Protection, *, lag_s: float = 0.0) -> Profile:
    outcomes = (
        Outcome(when={"body.a": "boom"}, answer=BOOM),
        Outcome(when={"body.a": "late"}, answer=LATE, effect=True),
    )
    create: dict[str, Any] = {
        "methods": ("POST",), "does": "create", "required": ("body.a",), "invalid": INVALID, "outcomes": outcomes,
        "object_prefix": "t-", **EFFECTFUL,
    }  # fmt: skip
    return Profile(
        name="own",
        title="",
        about="",
        operations=(
            Operation(name="create", path="/things", **create),
            Operation(name="order", path="/orders", **create),
            Operation(name="put", methods=("PUT",), path="/things/{id}", does="put", **EFFECTFUL),
            Operation(
                name="upsert", methods=("PATCH",), path="/named/{id}", does="upsert", object_id="{path.id}",
                updated=AnswerSpec(status=202, body="{object}"), **EFFECTFUL | {"collection": "named"},
            ),
            Operation(name="end", methods=("DELETE",), path="/things/{id}", does="delete", **EFFECTFUL),
            Operation(
                name="list", methods=("GET",), path="/things", does="list", effect=False, noun=("", ""),
                collection="things", lag_s=lag_s, filters=(Filter(parameter="a", path="a"),),
                consistent_when={"query.strong": "yes"}, newest_first=True,
                page=Page(size=3, parameter="query.page"),
                answer=AnswerSpec(status=200, body={"items": "{items}", "count": "{count}", "next": "{next}"}),
            ),
        ),
        protections={protection.name: protection},
        default_protection=protection.name,
    )  # fmt: skip


class Service:
    """The engine, and everything that its effects are known by."""

    def __init__(self, protection: Protection, **more: float) -> None:
        self.now_s = 1_000_000.0
        self.profile = profile(protection, **more)
        self.engine = Engine(
            profile=self.profile, target="t", protection=protection, settings={}, reads=(), drift=0,
            clock=VirtualClock(real=lambda: self.now_s),
        )  # fmt: skip

    def begin(self, method: str, path: str, body: Any = None, *, query: Any = None, **headers: str | None) -> Any:
        request = Request(
            method=method,
            path=path,
            query=query or {},
            headers={name.replace("_", "-"): text for name, text in headers.items() if text is not None},
            body=json.dumps(body).encode(),
            payload=body,
        )
        match = self.profile.match(request)
        assert match is not None
        request = Request(
            method=method, path=path, query=request.query, headers=request.headers, body=request.body, payload=body,
            path_values=match.path_values,
        )  # fmt: skip
        return self.engine.decide(match, request)

    def ask(self, *arguments: Any, **more: Any) -> Any:
        handled = self.begin(*arguments, **more)
        self.engine.complete(handled)
        return handled


def shown(handled: Any) -> tuple[Any, ...]:
    body = json.loads(handled.answer.body) if handled.answer.body else None
    return handled.decision, handled.answer.status, body, dict(handled.answer.headers).get("X-Mark")


# --------------------------------------------------------------------------------------------------- keys: the model


@dataclass
class Known:
    """What the model remembers of a key."""

    said: Any
    first_s: float
    done_s: float | None = None
    answer: tuple[Any, ...] = ()
    object_id: str = ""


@dataclass
class KeyModel:
    rule: KeyRule
    now_s: float = 0.0
    count: int = 0
    known: dict[Any, Known] = field(default_factory=dict)
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    ended_s: dict[str, float] = field(default_factory=dict)

    def begin(self, path: str, body: dict[str, Any], key: str | None) -> tuple[tuple[Any, ...], Any]:
        """Return what is seen of the answer, and what has to be given back once it is out."""
        rule = self.rule
        if rule.ignored or (path == "/orders" and "order" not in rule.operations):
            return self.do(body), None
        if key is None:
            if rule.missing:
                return (Decision.REJECTED, 400, None, None), None
            return self.do(body), None
        if rule.max_length and len(key) > rule.max_length and rule.too_long:
            return (Decision.REJECTED, 442, None, None), None
        if rule.form and not key.startswith("k"):
            return (Decision.REJECTED, 441, None, None), None
        space = {"account": None, "endpoint": path}.get(str(rule.scope), body.get("queue"))
        said = {
            "nothing": None,
            "parameters": (path, {name: value for name, value in body.items() if name != "trace" or not rule.ignores}),
            "bytes": (path, json.dumps(body)),
        }.get(str(rule.compares), body.get("a"))
        known = self.known.get((space, key))
        if known is not None and self.over(known):
            known = None
        if known is None or (known.done_s is None and rule.concurrent is None and not self.differs(known, said)):
            answer = self.do(body)
            if answer[1] == 499 and rule.stores != "all":
                return answer, None
            fresh = Known(said=said, first_s=self.now_s, answer=(*answer[:3], "first"))
            if answer[0] is Decision.APPLIED:
                fresh.object_id = f"t-{self.count:04d}"
            self.known[space, key] = fresh
            return fresh.answer, ((space, key), fresh)
        if self.differs(known, said):
            return (Decision.REJECTED, 422, None, None), None
        if known.done_s is None:
            return (Decision.CONFLICT, 503 if rule.concurrent == "wait" else 409, None, None), None
        return self.again(known, said, body), None

    def differs(self, known: Known, said: Any) -> bool:
        return known.said != said and isinstance(self.rule.mismatch, AnswerSpec)

    def again(self, known: Known, said: Any, body: dict[str, Any]) -> tuple[Any, ...]:
        same, stored = known.said == said, self.objects.get(known.object_id)
        status = known.answer[1]
        if not same and self.rule.mismatch == "overwrite":
            if known.object_id and stored is None:
                return Decision.EXISTING, 404, {"error": "not found"}, "first"
            if stored is not None:
                stored.clear()
                stored.update(body, id=known.object_id)
                return Decision.EXISTING, 201, dict(stored), "first"
            return Decision.EXISTING, status, known.answer[2], "first"
        dropped = not same and self.rule.mismatch == "dropped"
        mark = "first" if dropped else "again"
        if known.object_id and (dropped or self.rule.replays == "current"):
            if stored is None:
                return Decision.REPLAYED, 404, {"error": "not found"}, mark
            shown_body = {**body, "id": known.object_id} if dropped else dict(stored)
            return Decision.REPLAYED, 201, shown_body, mark
        return Decision.REPLAYED, status, known.answer[2], mark

    def over(self, known: Known) -> bool:
        if self.rule.window_s is None or known.done_s is None:
            return False
        start_s = {"first_request": known.first_s, "completion": known.done_s}.get(
            self.rule.window_starts, self.ended_s.get(known.object_id)
        )
        return start_s is not None and self.now_s >= start_s + self.rule.window_s

    def do(self, body: dict[str, Any]) -> tuple[Any, ...]:
        word = body.get("a")
        if word is None:
            return Decision.REJECTED, 499, None, None
        if word == "boom":
            return Decision.REJECTED, 500, None, None
        self.count += 1
        object_id = f"t-{self.count:04d}"
        self.objects[object_id] = {**body, "id": object_id}
        if word == "late":
            return Decision.APPLIED, 503, None, None
        return Decision.APPLIED, 201, dict(self.objects[object_id]), None

    def complete(self, opened: Any) -> None:
        if opened is None or self.known.get(opened[0]) is not opened[1]:
            return
        status = opened[1].answer[1]
        thrown = (self.rule.stores == "successes" and status >= 400) or (
            "503" in self.rule.never_stores and status == 503
        ) or ("5xx" in self.rule.never_stores and status >= 500)  # fmt: skip
        if thrown:
            del self.known[opened[0]]
        else:
            opened[1].done_s = self.now_s

    def end(self, object_id: str) -> Decision:
        if object_id in self.ended_s:
            return Decision.EXISTING
        if object_id not in self.objects:
            return Decision.REJECTED
        del self.objects[object_id]
        self.ended_s[object_id] = self.now_s
        return Decision.APPLIED


_KEY_RULES = st.builds(
    KeyRule,
    places=st.just(("header.idempotency-key",)),
    operations=st.sampled_from([("create",), ("create", "order")]),
    ignored=st.sampled_from([False] * 9 + [True]),
    missing=st.sampled_from([None, None, MISSING_KEY]),
    scope=st.sampled_from(["account", "endpoint", ("body.queue",)]),
    window_s=st.sampled_from([None, 0.0, 50.0, 100.0]),
    window_starts=st.sampled_from(["first_request", "completion", "object_end"]),
    stores=st.sampled_from(["all", "executed", "successes"]),
    never_stores=st.sampled_from([(), ("503",), ("5xx",)]),
    compares=st.sampled_from(["parameters", "bytes", "nothing", ("body.a",)]),
    ignores=st.sampled_from([(), ("body.trace",)]),
    mismatch=st.sampled_from([OTHER, "original", "dropped", "overwrite"]),
    concurrent=st.sampled_from([BUSY, "wait", None]),
    replays=st.sampled_from(["stored", "current"]),
    replay_headers=st.just({"X-Mark": "again"}),
    first_headers=st.just({"X-Mark": "first"}),
    max_length=st.sampled_from([None, 3]),
    too_long=st.sampled_from([None, LONG]),
    form=st.sampled_from(["", "k.*"]),
    bad_form=st.just(FORM),
)
_BODIES = st.fixed_dictionaries(
    {"a": st.sampled_from(["x", "x", "y", "boom", "late"])},
    optional={"queue": st.sampled_from(["q1", "q2"]), "trace": st.integers(0, 1)},
) | st.just({"b": 1})
_ASKED = st.tuples(
    st.sampled_from(["/things", "/things", "/orders"]),
    _BODIES,
    st.sampled_from(["k1", "k1", "k2", "other", None]),
)
_KEY_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), _ASKED),
        st.tuples(st.just("ask"), _ASKED),
        st.tuples(st.just("begin"), _ASKED),
        st.tuples(st.just("complete"), st.integers(0, 3)),
        st.tuples(st.just("move"), st.sampled_from([1, 49, 50, 99, 100])),
        st.tuples(st.just("end"), st.integers(1, 3)),
    ),
    min_size=2,
    max_size=16,
)


def agree_about_keys(rule: KeyRule, steps: list[Any]) -> None:
    service = Service(Protection(name="p", title="", keys=(rule,)))
    model, effects, open_requests = KeyModel(rule), 0, []
    for kind, what in steps:
        if kind == "move":
            service.now_s += what
            model.now_s += what
        elif kind == "end":
            object_id = f"t-{what:04d}"
            handled = service.ask("DELETE", f"/things/{object_id}")
            assert handled.decision is model.end(object_id)
        elif kind == "complete":
            if open_requests:
                handled, opened = open_requests.pop(what % len(open_requests))
                service.engine.complete(handled)
                model.complete(opened)
        else:
            path, body, key = what
            handled = service.begin("POST", path, body, idempotency_key=key)
            expected, opened = model.begin(path, body, key)
            assert shown(handled) == expected, (kind, what)
            effects += handled.effect_object_id is not None
            assert effects == model.count == service.engine.state.made.get("t-", 0)
            if kind == "ask":
                service.engine.complete(handled)
                model.complete(opened)
            else:
                open_requests.append((handled, opened))
    stored = {one.object_id: one.document for one in service.engine.state.all_of("things")}
    assert stored == model.objects


FAST = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FAST
@given(rule=_KEY_RULES, steps=_KEY_STEPS)
def test_any_key_rule_decides_any_requests_as_its_model_does(rule, steps):
    agree_about_keys(rule, steps)


@pytest.mark.slow
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rule=_KEY_RULES, steps=_KEY_STEPS)
def test_any_key_rule_decides_very_many_requests_as_its_model_does(rule, steps):
    agree_about_keys(rule, steps)


# ------------------------------------------------------------------------------------------------------ natural keys


@FAST
@given(
    rules=st.lists(
        st.builds(
            NaturalKeyRule,
            paths=st.sampled_from([("body.a",), ("body.a", "body.b"), ("body.b",)]),
            unless=st.sampled_from([{}, {"state": ("closed",)}]),
            lag_s=st.sampled_from([0.0, 30.0]),
            answer=st.just(AnswerSpec(status=409, body={"id": "{object.id}"})),
        ),
        min_size=1,
        max_size=2,
    ),
    steps=st.lists(
        st.one_of(
            st.fixed_dictionaries(
                {"a": st.sampled_from(["x", "y"])},
                optional={"b": st.sampled_from([1, 2]), "state": st.sampled_from(["open", "closed"])},
            ),
            st.sampled_from([1, 29, 30]),
            st.tuples(st.sampled_from(["close", "end"]), st.integers(1, 3)),
        ),
        min_size=2,
        max_size=14,
    ),
)
def test_any_natural_keys_decide_any_requests_as_a_scan_over_all_objects_does(rules, steps):
    service = Service(Protection(name="p", title="", natural_keys=tuple(rules)))
    objects: list[dict[str, Any]] = []
    now_s = 0.0
    for step in steps:
        if isinstance(step, int):
            service.now_s, now_s = service.now_s + step, now_s + step
            continue
        if isinstance(step, tuple):
            object_id = f"t-{step[1]:04d}"
            for known in [one for one in objects if one["id"] == object_id]:
                if step[0] == "end":
                    service.ask("DELETE", f"/things/{object_id}")
                    objects.remove(known)
                else:
                    known["now"] = {"state": "closed"}
                    service.ask("PUT", f"/things/{object_id}", {"state": "closed"})
            continue
        found = None
        for rule in rules:
            fields = [path.removeprefix("body.") for path in rule.paths]
            for known in objects:
                alike = all(name in step and known["asked"].get(name) == step[name] for name in fields)
                past = bool(rule.unless) and known["now"].get("state") == "closed"
                if alike and not past and now_s - known["at"] >= rule.lag_s:
                    found = found or known["id"]
        handled = service.ask("POST", "/things", step)
        if found:
            assert shown(handled) == (Decision.EXISTING, 409, {"id": found}, None)
        else:
            assert handled.decision is Decision.APPLIED
            objects.append({"id": handled.effect_object_id, "asked": step, "now": step, "at": now_s})


# ------------------------------------------------------------------------------------------- conditions and upserts


@FAST
@given(
    concurrent=st.sampled_from([BUSY, None]),
    steps=st.lists(
        st.one_of(
            st.tuples(
                st.just("put"), st.sampled_from("ab"), st.integers(0, 1), st.sampled_from([None, "*"]), st.none()
            ),
            st.tuples(st.just("put"), st.sampled_from("ab"), st.integers(0, 1), st.none(), st.sampled_from(["0", "1"])),
            st.tuples(st.just("begin"), st.sampled_from("ab"), st.integers(0, 1), st.just("*"), st.none()),
            st.tuples(st.just("complete"), st.integers(0, 1)),
            st.tuples(st.just("end"), st.sampled_from("ab")),
        ),
        max_size=14,
    ),
)
def test_any_conditional_writes_end_as_in_a_table_of_what_is_there(concurrent, steps):
    protection = Protection(
        name="p",
        title="",
        conditions=(
            ConditionRule(
                place="header.if-none-match", holds="*", failed=AnswerSpec(status=412), concurrent=concurrent
            ),
            ConditionRule(place="header.if-match", needs="unchanged", failed=AnswerSpec(status=412)),
        ),
    )
    service = Service(protection)
    there: dict[str, str] = {}
    busy: list[tuple[str, Any]] = []
    for kind, *what in steps:
        if kind == "complete":
            if busy:
                service.engine.complete(busy.pop(what[0] % len(busy))[1])
            continue
        if kind == "end":
            service.ask("DELETE", f"/things/{what[0]}")
            there.pop(what[0], None)
            continue
        name, number, absent, tag = what
        handled = service.begin(
            "PUT", f"/things/{name}", {"etag": str(number)}, if_none_match=absent, if_match=tag and f'"{tag}"'
        )
        if absent and concurrent and name in [held for held, _ in busy]:
            expected = Decision.CONFLICT
        elif absent and name in there:
            expected = Decision.EXISTING
        elif tag and there.get(name) != tag:
            expected = Decision.REJECTED
        elif there.get(name) == str(number):
            expected = Decision.EXISTING
        else:
            expected = Decision.APPLIED
            there[name] = str(number)
        assert handled.decision is expected, (kind, what)
        if kind == "begin" and expected is Decision.APPLIED:
            busy.append((name, handled))
        else:
            service.engine.complete(handled)
    assert {one.object_id: one.document["etag"] for one in service.engine.state.all_of("things")} == there


@FAST
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 1), max_size=2),
        ),
        max_size=12,
    )
)
def test_any_upserts_end_as_in_a_dictionary(steps):
    service = Service(Protection(name="none", title=""))
    there: dict[str, dict[str, Any]] = {}
    for name, fields in steps:
        handled = service.ask("PATCH", f"/named/{name}", fields)
        after = {**there.get(name, {"id": name}), **fields}
        decision = Decision.EXISTING if there.get(name) == after else Decision.APPLIED
        status = 202 if name in there else 201
        there[name] = after
        assert shown(handled) == (decision, status, after, None)


# ---------------------------------------------------------------------------------------------------------- lookups


@FAST
@given(
    lag_s=st.sampled_from([0.0, 30.0]),
    steps=st.lists(
        st.one_of(
            st.sampled_from(["x", "y"]),
            st.sampled_from([1, 29, 30]),
            st.fixed_dictionaries(
                {},
                optional={
                    "a": st.sampled_from(["x", "y", "z"]),
                    "strong": st.sampled_from(["yes", "no"]),
                    "page": st.sampled_from(["1", "2", "3"]),
                },
            ),
        ),
        max_size=20,
    ),
)
def test_any_lookup_sees_what_a_plain_filter_over_everything_made_sees(lag_s, steps):
    service = Service(Protection(name="none", title=""), lag_s=lag_s)
    made: list[tuple[float, str, str]] = []
    for step in steps:
        if isinstance(step, int):
            service.now_s += step
        elif isinstance(step, str):
            made.append((service.now_s, service.ask("POST", "/things", {"a": step}).effect_object_id, step))
        else:
            lag = 0.0 if step.get("strong") == "yes" else lag_s
            seen = [
                object_id
                for at_s, object_id, word in reversed(made)
                if service.now_s - at_s >= lag and step.get("a", word) == word
            ]
            page = int(step.get("page", "1"))
            answer = json.loads(service.ask("GET", "/things", query=step).answer.body)
            assert [item["id"] for item in answer["items"]] == seen[3 * page - 3 : 3 * page]
            assert answer["count"] == len(seen)
            assert answer["next"] == (page + 1 if len(seen) > 3 * page else None)
