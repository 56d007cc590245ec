"""Hypothesis strategies for the values of the model, shared by the tests of several rooms."""

from __future__ import annotations

import string
from dataclasses import fields, replace
from typing import Any

from hypothesis import strategies as st

from ackgap.model.boundary import BoundaryKind, CrashPoint, Phase
from ackgap.model.event import Decision, Injector, Settling
from ackgap.model.event_codec import EVENT_TYPES
from ackgap.model.manner import FaultKind, Manner
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Fault, Schedule

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="@,;"), min_size=1, max_size=12).filter(
    lambda name: not any(letter in string.whitespace for letter in name)
)
WORDS = st.text(max_size=12)
# Numbers that JSON has: what a worker sends besides is turned into text before it is kept.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
POINTS = st.builds(CrashPoint, name=NAMES, occurrence=st.integers(1, 999_999_999), phase=st.sampled_from(Phase))
DURATIONS_S = st.one_of(
    st.just(0.0),
    st.floats(0, 3e9, allow_nan=False),
    st.sampled_from([60, 90, 3600, 86400, 259200, 86400 * 1_234]).map(float),
)
MANNERS = st.one_of(
    st.builds(
        Manner,
        kind=st.sampled_from([FaultKind.KILL, FaultKind.PAUSE]),
        down_s=DURATIONS_S,
        stale_s=DURATIONS_S,
    ),
    st.builds(Manner, kind=st.just(FaultKind.KILL), down_s=DURATIONS_S, lives=st.integers(1, 1000)),
    st.builds(
        Manner,
        kind=st.just(FaultKind.KILL),
        stale_s=DURATIONS_S,
        without=st.from_regex(r"[a-z][a-z0-9_.+-]{0,9}", fullmatch=True),
        for_s=st.floats(0.001, 3600),
    ),
    st.builds(
        Manner,
        kind=st.just(FaultKind.KILL),
        heirs=st.integers(1, 4),
        release=st.just("") | st.from_regex(r"[a-z][a-z0-9_.+-]{0,9}", fullmatch=True),
        unsettled=st.integers(0, 9999),
    ),
    st.builds(Manner, kind=st.just(FaultKind.TERM), down_s=DURATIONS_S, for_s=st.floats(0.001, 3600)),
    st.builds(
        Manner,
        kind=st.just(FaultKind.HOLD),
        until=st.from_regex(r"[a-z][a-z0-9_.+-]{0,9}#[1-9][0-9]{0,3}", fullmatch=True),
    ),
    st.builds(
        Manner,
        kind=st.just(FaultKind.TOXIC),
        name=st.from_regex(r"[a-z][a-z0-9_.+-]{0,9}", fullmatch=True),
        until=st.just("") | st.from_regex(r"[a-z][a-z0-9_.+-]{0,9}#[1-9][0-9]{0,3}:received", fullmatch=True),
        for_s=st.just(0.0) | st.floats(0.001, 3600),
    ),
    st.builds(Manner, kind=st.just(FaultKind.LOSE), stale_s=DURATIONS_S),
    st.builds(Manner, kind=st.just(FaultKind.FAIL), status=st.integers(400, 599)),
    st.builds(Manner, kind=st.just(FaultKind.SLOW), for_s=st.floats(0.001, 3600)),
    st.builds(Manner, kind=st.sampled_from([FaultKind.RESET, FaultKind.TWICE])),
)


@st.composite
def _faults(draw: st.DrawFn) -> Fault:
    manner = draw(MANNERS)
    point = draw(POINTS)
    return Fault(manner=manner, point=replace(point, phase=draw(st.sampled_from(manner.kind.phases))))


FAULTS = _faults()


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    faults: list[Fault] = []
    life = 0
    for _ in range(draw(st.integers(0, 4))):
        life += draw(st.integers(1, 2000))
        faults.append(replace(draw(FAULTS), incarnation=life))
        life += faults[-1].manner.lives - 1
    return Schedule(faults=tuple(faults))


AXIS_WORDS = st.text(st.characters(codec="utf-8", exclude_characters=",=@ "), min_size=1, max_size=8)
VARIANTS = st.dictionaries(AXIS_WORDS, AXIS_WORDS, max_size=3).map(lambda axes: Variant(values=tuple(axes.items())))

SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "phase": st.sampled_from(Phase),
    "boundary_kind": st.sampled_from(BoundaryKind),
    "source": st.sampled_from(Injector),
    "injector": st.sampled_from(Injector),
    "settling": st.sampled_from(Settling),
    "command": st.lists(WORDS, max_size=3).map(tuple),
    "parked_siblings": st.lists(WORDS, max_size=3).map(tuple),
    "beside": st.lists(WORDS, max_size=3).map(tuple),
    "identity": st.dictionaries(WORDS, JSON, max_size=2),
    "content": JSON,
    "payload": JSON,
    "query": JSON,
    "headers": st.dictionaries(WORDS, JSON, max_size=2),
}
BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(0, 2**40),
    "int | None": st.none() | st.integers(0, 255),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "str": WORDS,
    "str | None": st.none() | WORDS,
    "bool": st.booleans(),
    "bool | None": st.none() | st.booleans(),
    "Decision": st.sampled_from(Decision),
    "Decision | None": st.none() | st.sampled_from(Decision),
}


def events_of(kind: type) -> st.SearchStrategy[Any]:
    return st.builds(
        kind,
        **{item.name: SPECIAL[item.name] if item.name in SPECIAL else BY_TYPE[str(item.type)] for item in fields(kind)},
    )


EVENTS = st.one_of([events_of(kind) for kind in EVENT_TYPES.values()])
