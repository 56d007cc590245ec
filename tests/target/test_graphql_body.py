"""GraphQL bodies: the first field that is asked for, with variables put in; whatever else comes is no GraphQL."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackgap.target.wire.graphql_body import read_graphql
from ackgap.target.wire.payload import fingerprint


def read(query, variables=None, **more):
    return read_graphql({"query": query, "variables": variables, **more})


def test_field_arguments_alias_and_directives_can_be_read():
    found = read(
        'mutation Make { made: create(input: {a: [1, 2.5, "x", true, null, RED]}) @idempotent(key: "k") { id } }'
    )
    assert found == {
        "kind": "mutation",
        "field": "create",
        "alias": "made",
        "args": {"input": {"a": [1, 2.5, "x", True, None, "RED"]}},
        "directives": {"idempotent": {"key": "k"}},
    }


def test_the_same_request_with_and_without_variables_says_the_same():
    literal = read('mutation { create(name: "n", lines: [{count: 2}]) { id } }')
    variables = read(
        "mutation($n: String!, $l: [Line!]) { create(name: $n, lines: $l) { id } }", {"n": "n", "l": [{"count": 2}]}
    )
    assert literal == variables
    nested = read('mutation($c: Int) { create(name: "n", lines: [{count: $c}]) { id } }', {"c": 2})
    assert nested == literal


def test_a_variable_that_was_not_given_takes_its_default_or_leaves_its_argument_out():
    query = "mutation($a: Int = 5, $b: Int) { create(a: $a, b: $b, c: {d: $b, e: 1}, f: [$b]) @once(key: $b) { id } }"
    for variables in (None, {}, {"other": 1}):
        found = read(query, variables)
        assert found["args"] == {"a": 5, "c": {"e": 1}, "f": [None]}
        assert found["directives"] == {"once": {}}
    assert read(query, {"a": None})["args"]["a"] is None


def test_the_named_operation_is_read_and_else_the_first():
    query = "query One { get(id: 1) { id } } mutation Two { create { id } }"
    assert read(query, operationName="Two")["field"] == "create"
    assert read(query)["field"] == "get"
    assert read(query, operationName="Three")["field"] == "get"


def test_a_query_in_its_short_form_is_a_query():
    assert (read("{ viewer { id } }")["kind"], read("{ viewer { id } }")["alias"]) == ("query", "viewer")


def test_a_field_that_stands_in_a_fragment_is_found():
    assert read("mutation { ...F } fragment F on Mutation { create(a: 1) { id } }")["args"] == {"a": 1}
    assert read("mutation { ... on Mutation { create(a: 1) { id } } }")["field"] == "create"
    assert read("mutation { ...F } fragment F on Mutation { ...F }") is None
    assert read("mutation { ...Nowhere }") is None


@pytest.mark.parametrize(
    "payload",
    [
        None, [], "query", {}, {"query": 1}, {"query": ""}, {"query": "{"}, {"query": "fragment F on T { a }"},
        {"query": "\ud800"}, {"query": "{" * 30_000}, {"query": "{a" * 3_000 + "}" * 3_000},
        {"query": "query { a }" + " " * 300_000},
    ],
    ids=lambda payload: str(payload)[:20],
)  # fmt: skip
def test_what_is_no_graphql_is_nothing(payload):
    assert read_graphql(payload) is None


@pytest.mark.parametrize("literal", ["9" * 5_000, "-" + "9" * 5_000, "1e999", "[" * 150 + "1" + "]" * 150])
def test_a_number_or_list_beyond_measure_breaks_nothing(literal):
    found = read(f"mutation {{ create(a: {literal}) {{ id }} }}")
    assert found is None or json.dumps(found, allow_nan=False)


_TOKENS = st.sampled_from(
    ["{", "}", "(", ")", "mutation", "create", "a:", "$v", "$w", '"x"', "1", "@d", "[", "]", "...", "F", "on",
     "fragment", "query", "=", ": Int", "!", '"""y"""', "{a: $v}"]
)  # fmt: skip


@given(words=st.lists(_TOKENS, max_size=14), variables=st.none() | st.dictionaries(st.just("v"), st.integers()))
def test_whatever_is_asked_what_is_read_is_plain_json(words, variables):
    found = read(" ".join(words), variables)
    fingerprint(found)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
