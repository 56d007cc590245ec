"""Hypothesis strategies for the values of the model, shared by the tests of several rooms."""

from __future__ import annotations

import string
from dataclasses import fields
from typing import Any

from hypothesis import strategies as st

from ackgap.model.boundary import BoundaryKind, CrashPoint, Phase
from ackgap.model.event import EVENT_TYPES, Decision, Injector, Settling
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Fault, FaultKind, Schedule

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
FAULTS = st.builds(Fault, kind=st.sampled_from(FaultKind), point=POINTS, down_s=DURATIONS_S)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    lives = sorted(draw(st.sets(st.integers(1, 9999), max_size=4)))
    return Schedule(
        faults=tuple(
            Fault(kind=fault.kind, point=fault.point, down_s=fault.down_s, incarnation=life)
            for life, fault in ((life, draw(FAULTS)) for life in lives)
        )
    )


AXIS_WORDS = st.text(st.characters(codec="utf-8", exclude_characters=",=@ "), min_size=1, max_size=8)
VARIANTS = st.dictionaries(AXIS_WORDS, AXIS_WORDS, max_size=3).map(lambda axes: Variant(values=tuple(axes.items())))

SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "phase": st.sampled_from(Phase),
    "boundary_kind": st.sampled_from(BoundaryKind),
    "source": st.sampled_from(Injector),
    "settling": st.sampled_from(Settling),
    "command": st.lists(WORDS, max_size=3).map(tuple),
    "parked_siblings": st.lists(WORDS, max_size=3).map(tuple),
    "identity": st.dictionaries(WORDS, JSON, max_size=2),
    "content": JSON,
    "payload": JSON,
    "query": JSON,
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
