"""Mistakes in a profile: each is told with the file, the key and what may stand there, and nothing else is raised."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ackgap.content import find_profile, profile_names
from ackgap.errors import ProfileInvalid, ScenarioInvalid
from ackgap.target.clock import VirtualClock
from ackgap.target.engine import Engine
from ackgap.target.profiles.facts import chosen_settings
from ackgap.target.profiles.profile import Match, Profile, load_profile
from ackgap.target.wire.request import Request

WHOLE = """
name = "own"
title = "t"
about = "a"
default_protection = "p"
[[sources]]
claim = "made up"
date = "2026-11-29"
grade = "invented"
[settings.speed]
about = "how fast"
default = 1
[[operations]]
name = "create"
method = "POST"
path = "/things"
does = "create"
effect = true
answer = { status = 201, body = "{object}" }
updated = { status = 200 }
not_found = { status = 404 }
invalid = { status = 422 }
[[operations.outcomes]]
when = { "body.a" = 1 }
answer = { status = 500 }
[[operations]]
name = "list"
method = "GET"
path = "/things"
does = "list"
page = { size = 1, parameter = "query.page" }
search = { parameter = "query.q" }
[[later]]
collection = "things"
after_s = 1
fields = { done = true }
[errors.unknown_path]
status = 404
[protections.p]
title = "t"
[protections.p.unknown]
"key.window_s" = "30 minutes"
[[protections.p.key]]
place = "header.idempotency-key"
missing = { status = 400 }
mismatch = { status = 422 }
concurrent = { status = 409 }
too_long = { status = 400 }
bad_form = { status = 400 }
[[protections.p.condition]]
place = "header.if-none-match"
failed = { status = 412 }
[[protections.p.natural_key]]
paths = ["body.a"]
answer = { status = 409 }
"""


def written(value: Any) -> str:
    """Return a value as TOML, tables in line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {written(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool | int) else repr(value)


def store(file: Path, document: dict[str, Any]) -> Path:
    file.write_text("\n".join(f"{name} = {written(value)}" for name, value in document.items()), encoding="utf-8")
    return file


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything below a node."""
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for step, child in entries:
        yield (*path, step)
        yield from places(child, (*path, step))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def complaint(file: Path) -> ProfileInvalid:
    with pytest.raises(ProfileInvalid) as caught:
        load_profile(str(file))
    return caught.value


def test_the_whole_file_of_these_tests_is_right(profile_file, tmp_path):
    assert load_profile(str(profile_file(WHOLE))).name == "own"
    again = store(tmp_path / "again.toml", tomllib.loads(WHOLE))
    assert load_profile(str(again)).operations == load_profile(str(profile_file(WHOLE))).operations


TABLES = [
    ((), "the file's own keys: protections"),
    (("sources", 0), "grade"),
    (("settings", "speed"), "default"),
    (("operations", 0), "identity"),
    (("operations", 0, "answer"), "headers"),
    (("operations", 0, "updated"), "headers"),
    (("operations", 0, "not_found"), "headers"),
    (("operations", 0, "invalid"), "headers"),
    (("operations", 0, "outcomes", 0), "when"),
    (("operations", 0, "outcomes", 0, "answer"), "headers"),
    (("operations", 1, "page"), "size_parameter"),
    (("operations", 1, "search"), "paths"),
    (("later", 0), "after_s"),
    (("errors", "unknown_path"), "headers"),
    (("protections", "p"), "natural_key"),
    (("protections", "p", "key", 0), "window_starts"),
    (("protections", "p", "key", 0, "missing"), "headers"),
    (("protections", "p", "key", 0, "mismatch"), "headers"),
    (("protections", "p", "key", 0, "concurrent"), "headers"),
    (("protections", "p", "key", 0, "too_long"), "headers"),
    (("protections", "p", "key", 0, "bad_form"), "headers"),
    (("protections", "p", "condition", 0), "needs"),
    (("protections", "p", "condition", 0, "failed"), "headers"),
    (("protections", "p", "natural_key", 0), "lag_s"),
    (("protections", "p", "natural_key", 0, "answer"), "headers"),
]


@pytest.mark.parametrize(("place", "allowed"), TABLES, ids=[".".join(map(str, place)) or "file" for place, _ in TABLES])
def test_a_key_that_nobody_knows_is_named_with_its_place_and_those_that_are_known(tmp_path, place, allowed):
    document = tomllib.loads(WHOLE)
    at(document, place)["no_such_key"] = 1
    file = store(tmp_path / "own.toml", document)
    error = complaint(file)
    assert "There is no key 'no_such_key' here" in error.what
    assert error.where.startswith(f"{file}: ")
    assert error.where.endswith("no_such_key")
    assert allowed.rpartition(" ")[2] in error.next_step


@pytest.mark.parametrize(
    ("place", "value", "key", "allowed"),
    [
        (("operations", 0, "does"), "crate", "operations[create].does", "'create'"),
        (("operations", 0, "method"), "FETCH", "operations[create].method", "'POST'"),
        (("operations", 0, "noun"), ["one"], "operations[create].noun", "2"),
        (("operations", 0, "identity"), ["amount"], "operations[create].identity", "body.partner.id"),
        (("operations", 0, "answer", "status"), 99, "operations[create].answer.status", "200"),
        (("operations", 0, "answer", "status"), 101, "operations[create].answer.status", "200"),
        (("operations", 0, "lag_s"), -1, "operations[create].lag_s", "0"),
        (("operations", 1, "page", "size"), 0, "operations[list].page.size", "1"),
        (("operations", 1, "page", "kind"), "cursor", "operations[list].page.kind", "'after'"),
        (("protections", "p", "key", 0, "scope"), "world", "protections.p.key[0].scope", "'endpoint'"),
        (("protections", "p", "key", 0, "window_starts"), "end", "protections.p.key[0].window_starts", "'object_end'"),
        (("protections", "p", "key", 0, "window_s"), -1, "protections.p.key[0].window_s", "0"),
        (("protections", "p", "key", 0, "stores"), "some", "protections.p.key[0].stores", "'executed'"),
        (("protections", "p", "key", 0, "never_stores"), ["4x"], "protections.p.key[0].never_stores", "pattern"),
        (("protections", "p", "key", 0, "compares"), "body", "protections.p.key[0].compares", "'bytes'"),
        (("protections", "p", "key", 0, "ignores"), ["query.a"], "protections.p.key[0].ignores", "pattern"),
        (("protections", "p", "key", 0, "mismatch"), "ignore", "protections.p.key[0].mismatch", "'dropped'"),
        (("protections", "p", "key", 0, "concurrent"), "block", "protections.p.key[0].concurrent", "'wait'"),
        (("protections", "p", "key", 0, "replays"), "old", "protections.p.key[0].replays", "'current'"),
        (("protections", "p", "key", 0, "form"), "(", "protections.p.key[0].form", "regular expression"),
        (("protections", "p", "key", 0, "max_length"), 0, "protections.p.key[0].max_length", "1"),
        (("protections", "p", "condition", 0, "needs"), "there", "protections.p.condition[0].needs", "'unchanged'"),
        (("protections", "p", "natural_key", 0, "paths"), [], "protections.p.natural_key[0].paths", "1"),
        (("sources", 0, "grade"), "guess", "sources[0].grade", "'vendor'"),
        (("sources", 0, "date"), "yesterday", "sources[0].date", "pattern"),
        (("default_protection",), "q", "default_protection", "p"),
        (("protections", "p", "key", 0, "operations"), ["crate"], "protections.p.key.operations", "create, list"),
        (("operations", 0, "answer", "body"), "{objet.id}", "operations[create].answer", "{object...}"),
        (("operations", 0, "answer", "body"), "{setting.sped}", "operations[create].answer", "speed"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_a_value_that_may_not_stand_there_is_told_with_its_key_and_what_may(tmp_path, place, value, key, allowed):
    document = tomllib.loads(WHOLE)
    at(document, place[:-1])[place[-1]] = value
    file = store(tmp_path / "own.toml", document)
    error = complaint(file)
    assert error.where.startswith(f"{file}: {key}")
    assert allowed in f"{error.what} {error.next_step}"


@pytest.mark.parametrize(
    ("place", "key"),
    [
        (("protections", "p", "key", 0, name), f"protections.p.key.{name}")
        for name in ("first_headers", "replay_headers")
    ]
    + [(("operations", 0, "outcomes", 0, "answer", "headers"), "operations[create].outcomes[0]")],
    ids=str,
)
def test_a_placeholder_that_stands_for_nothing_is_found_in_headers_as_well(tmp_path, place, key):
    document = tomllib.loads(WHOLE)
    at(document, place[:-1])[place[-1]] = {"X-Id": "{objet.id}"}
    assert key in complaint(store(tmp_path / "own.toml", document)).where


@pytest.mark.parametrize(
    ("place", "key"),
    [
        (("operations", 0, "method"), "operations[create].method"),
        (("protections", "p", "key", 0, "place"), "protections.p.key"),
        (("protections", "p", "key", 0, "scope"), "protections.p.key"),
        (("protections", "p", "key", 0, "compares"), "protections.p.key"),
    ],
    ids=str,
)
def test_a_list_that_leaves_nothing_to_go_by_is_refused(tmp_path, place, key):
    document = tomllib.loads(WHOLE)
    at(document, place[:-1])[place[-1]] = []
    assert key in complaint(store(tmp_path / "own.toml", document)).where


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection"])
def test_a_header_that_the_connection_writes_itself_is_refused(tmp_path, name):
    document = tomllib.loads(WHOLE)
    document["operations"][0]["answer"]["headers"] = {name: "1"}
    error = complaint(store(tmp_path / "own.toml", document))
    assert "operations[create].answer.headers" in error.where
    assert name in error.what


@pytest.mark.parametrize("text", ["", "a", "= 1", "a = [[[[", "a = " + "[" * 5_000, "\x00", 'name = "x"'])
def test_a_file_that_is_no_profile_is_a_mistake_in_it(profile_file, text):
    file = profile_file(text)
    assert str(file) in complaint(file).where


def test_a_file_that_is_not_utf_8_is_a_mistake_in_it(tmp_path):
    file = tmp_path / "own.toml"
    file.write_bytes(b'name = "\xff"')
    assert str(file) in complaint(file).where


_VALUES = st.one_of(
    st.sampled_from(
        ["", "x", "body.a", "{", "{object.id}", "{setting.none}", "GET", "/a/{b}", "2026-11-29", "a b", "("]
    ),
    st.integers(-2, 700),
    st.booleans(),
    st.floats(),
    st.sampled_from(
        [[], [1], ["body.a"], [[]], {}, {"x": 1}, {"status": 200}, {"status": "200"}, [{}], {"a": {"b": {}}}]
    ),
    st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=6),
)
_SHIPPED = {name: tomllib.loads(find_profile(name).read_text(encoding="utf-8")) for name in profile_names()}
_PLACES = [(name, place) for name, document in _SHIPPED.items() for place in places(document)]


ANY_CHANGE = {
    "chosen": st.sampled_from(_PLACES),
    "how": st.sampled_from(["set", "set", "set", "drop", "rename", "add"]),
    "value": _VALUES,
}


def loads_or_is_told(directory: Path, chosen: tuple[str, tuple[Any, ...]], how: str, value: Any) -> None:
    name, place = chosen
    document = copy.deepcopy(_SHIPPED[name])
    parent = at(document, place[:-1])
    if how == "drop":
        del parent[place[-1]]
    elif how == "rename" and isinstance(parent, dict):
        parent[f"{place[-1]}x"] = parent.pop(place[-1])
    elif how == "add" and isinstance(parent, dict):
        parent["x"] = value
    else:
        parent[place[-1]] = value
    file = store(directory / "mutant.toml", document)
    try:
        profile = load_profile(str(file))
    except ProfileInvalid as error:
        told = error
    else:
        if place[0] != "settings":  # the words of a script are looked at when a scenario takes them
            serve_each_operation(profile)
        return
    where, _, key = told.where.partition(": ")
    assert where == str(file)
    assert key
    assert told.what
    assert told.next_step


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(**ANY_CHANGE)
@example(chosen=("stripe", ("protections",)), how="set", value=[])
@example(chosen=("stripe", ("name",)), how="drop", value=None)
@example(chosen=("dynamodb", ("operations", 0, "method")), how="set", value=[])
def test_any_one_change_to_a_shipped_profile_loads_or_is_told_with_file_and_key(tmp_path_factory, chosen, how, value):
    loads_or_is_told(tmp_path_factory.getbasetemp(), chosen, how, value)


@pytest.mark.slow
@settings(max_examples=800, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(**ANY_CHANGE)
def test_very_many_changes_to_shipped_profiles_load_or_are_told(tmp_path_factory, chosen, how, value):
    loads_or_is_told(tmp_path_factory.getbasetemp(), chosen, how, value)


def serve_each_operation(profile: Profile) -> None:
    """What may be written can be served: ask for everything twice, with what every rule and template looks for."""
    for protection in profile.protections.values():
        try:
            values = chosen_settings(profile, "t", {})
        except ScenarioInvalid:  # a script that nobody could play is told when a scenario takes it
            return
        engine = Engine(
            profile=profile, target="t", protection=protection, settings=values, reads=(), drift=0, clock=VirtualClock()
        )
        for operation in (*profile.operations, *profile.operations):
            body = {"messages": [{"role": "user", "content": "x"}], "model": "m", "input": "x", "max_tokens": 9}
            asked = Request(
                method=operation.methods[0], path=operation.path, payload=body, body=b"{}", query={"q": "x"},
                headers={"idempotency-key": "k", "if-none-match": "*"}, path_values={"id": "1"},
            )  # fmt: skip
            handled = engine.decide(Match(operation=operation, path_values={"id": "1"}), asked)
            engine.complete(handled)
            assert b"".join(handled.answer.parts) == handled.answer.body


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_nobody_can_reckon_with_is_told_with_its_key(tmp_path, number):
    document = tomllib.loads(WHOLE)
    document["protections"]["p"]["key"][0]["window_s"] = number
    error = complaint(store(tmp_path / "own.toml", document))
    assert "protections.p.key[0].window_s" in error.where
    assert "no number to reckon with" in error.what
