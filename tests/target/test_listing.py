"""Lookups: what a listing sees, in which order, and how it is cut."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackgap.target.lookup.listing import listed
from ackgap.target.profiles.operation import Filter, Operation, Page, TextSearch
from ackgap.target.wire.request import Request

LISTING = Operation(name="list", methods=("GET",), path="/things", does="list", effect=False, noun=("", ""))
SIZED = Page(size=2, parameter="query.page", size_parameter="query.limit", largest=3)


def find(objects, operation=LISTING, *, lag_s=0.0, now_s=100.0, described=True, body=None, **query):
    request = Request(method="GET", path="/things", query=query, payload=body)
    return listed(operation, request, objects, lag_s=lag_s, now_s=now_s, described=described)


def things(*documents, created_s=0.0):
    return [(created_s, f"t-{number}", document) for number, document in enumerate(documents, start=1)]


def names(found):
    return [item["n"] for item in found.items]


FIVE = things(*({"n": number} for number in range(1, 6)))


# ------------------------------------------------------------------------------------------------------------- lag


@pytest.mark.parametrize(("lag_s", "seen"), [(0, [1, 2, 3]), (10, [1, 2]), (10.1, [1]), (100, [1]), (101, [])])
def test_objects_younger_than_the_lag_are_not_seen(lag_s, seen):
    objects = [(0.0, "a", {"n": 1}), (90.0, "b", {"n": 2}), (100.0, "c", {"n": 3})]
    assert names(find(objects, lag_s=lag_s)) == seen


@pytest.mark.parametrize(
    ("query", "seen"),
    [({"consistent": "true"}, [1]), ({"consistent": "yes"}, []), ({}, []), ({"level": "strong"}, [1])],
)
def test_a_request_that_asks_for_consistency_sees_everything(query, seen):
    operation = replace(LISTING, consistent_when={"query.consistent": "true", "query.level": "strong"})
    assert names(find([(100.0, "a", {"n": 1})], operation, lag_s=60, **query)) == seen


def test_what_is_not_seen_is_not_counted_and_makes_no_page():
    objects = [*FIVE[:2], (100.0, "new", {"n": 9})]
    found = find(objects, replace(LISTING, page=Page(size=2, parameter="query.page")), lag_s=5)
    assert (names(found), found.total, found.more) == ([1, 2], 2, False)


# --------------------------------------------------------------------------------------------------------- filters


def test_each_filter_that_is_given_must_hold_and_one_that_is_not_given_asks_nothing():
    operation = replace(
        LISTING,
        filters=(Filter(parameter="partner", path="partner.id"), Filter(parameter="body.open", path="open")),
    )
    objects = things(
        {"n": 1, "partner": {"id": 7}, "open": True},
        {"n": 2, "partner": {"id": 7}, "open": False},
        {"n": 3, "partner": {"id": 8}, "open": True},
        {"n": 4},
    )
    assert names(find(objects, operation)) == [1, 2, 3, 4]
    assert names(find(objects, operation, partner="7")) == [1, 2]
    assert names(find(objects, operation, partner="7", body={"open": True})) == [1]
    assert names(find(objects, operation, body={"open": "false"})) == [2]
    assert names(find(objects, operation, partner="9")) == []
    assert names(find(objects, operation, unknown="9")) == [1, 2, 3, 4]


def test_a_service_that_nobody_described_filters_by_fields_that_its_objects_have():
    objects = things({"n": 1, "state": "open"}, {"n": 2, "state": "done"})
    assert names(find(objects, described=False, state="done")) == [2]
    assert names(find(objects, described=False, page="2")) == [1, 2]


# ---------------------------------------------------------------------------------------------------------- search


@pytest.mark.parametrize(
    ("question", "seen"),
    [
        ("review", [1, 2]),
        ("REVIEW 4471", [1]),
        ('"partner 4471"', [1]),
        ("'partner 4471'", [1]),
        ("type:ticket review", [1, 2]),
        ('status:open "review of" "4472"', [2]),
        ("nothing", []),
        ("", [1, 2, 3]),
    ],
)
def test_a_search_finds_what_holds_every_word_or_all_of_what_is_quoted(question, seen):
    operation = replace(LISTING, search=TextSearch(parameter="query.q"))
    objects = things(
        {"n": 1, "title": "Review of partner 4471"}, {"n": 2, "title": "review of 4472"}, {"n": 3, "title": "else"}
    )
    assert names(find(objects, operation, q=question)) == seen


def test_a_search_looks_only_where_the_service_looks_and_without_a_question_finds_everything():
    operation = replace(LISTING, search=TextSearch(parameter="query.q", paths=("title", "meta.tags")))
    objects = things({"n": 1, "title": "a", "note": "x"}, {"n": 2, "meta": {"tags": ["x"]}})
    assert names(find(objects, operation, q="x")) == [2]
    assert names(find(objects, operation)) == [1, 2]
    assert names(find(objects, operation, q=["x", "y"])) == [1, 2]


# ---------------------------------------------------------------------------------------------------- order, pages


def test_a_listing_is_oldest_first_or_newest_first():
    assert names(find(FIVE)) == [1, 2, 3, 4, 5]
    assert names(find(FIVE, replace(LISTING, newest_first=True))) == [5, 4, 3, 2, 1]


def test_without_pages_everything_is_given_at_once():
    found = find(FIVE, page="2", limit="1")
    assert (len(found.items), found.total, found.more, found.next) == (5, 5, False, None)


@pytest.mark.parametrize(
    ("kind", "query", "seen", "following"),
    [
        ("number", {}, [1, 2], 2),
        ("number", {"page": "2"}, [3, 4], 3),
        ("number", {"page": "3"}, [5], None),
        ("number", {"page": "4"}, [], None),
        ("number", {"page": "2", "limit": "3"}, [4, 5], None),
        ("number", {"page": 2}, [3, 4], 3),
        ("offset", {}, [1, 2], 2),
        ("offset", {"page": "1"}, [2, 3], 3),
        ("offset", {"page": "4"}, [5], None),
        ("after", {}, [1, 2], "t-2"),
        ("after", {"page": "t-2"}, [3, 4], "t-4"),
        ("after", {"page": "t-5"}, [], None),
    ],
)
def test_a_page_is_cut_by_number_offset_or_last_id_and_says_what_comes_next(kind, query, seen, following):
    found = find(FIVE, replace(LISTING, page=replace(SIZED, kind=kind)), **query)
    assert (names(found), found.next, found.more, found.total) == (seen, following, following is not None, 5)


@pytest.mark.parametrize(
    ("limit", "size"), [("1", 1), ("3", 3), ("99", 3), ("0", 2), ("-1", 2), ("x", 2), ("1.5", 2), ("٣", 2), (None, 2)]
)
def test_a_page_is_as_large_as_asked_for_up_to_the_largest(limit, size):
    query = {} if limit is None else {"limit": limit}
    assert len(find(FIVE, replace(LISTING, page=SIZED), **query).items) == size


@pytest.mark.parametrize("mark", ["0", "-1", "x", "", "9" * 40, ["1", "2"]])
@pytest.mark.parametrize("kind", ["number", "offset", "after"])
def test_a_mark_that_names_no_page_breaks_nothing(kind, mark):
    found = find(FIVE, replace(LISTING, page=replace(SIZED, kind=kind)), page=mark)
    assert names(found) in ([1, 2], [])


@given(
    count=st.integers(0, 12),
    size=st.integers(1, 5),
    kind=st.sampled_from(["number", "offset", "after"]),
    newest_first=st.booleans(),
)
def test_whoever_follows_the_pages_sees_every_object_once_and_in_order(count, size, kind, newest_first):
    objects = things(*({"n": number} for number in range(count)))
    page = Page(size=size, parameter="query.page", kind=kind)
    operation = replace(LISTING, page=page, newest_first=newest_first)
    found = find(objects, operation)
    seen = names(found)
    while found.more:
        found = find(objects, operation, page=str(found.next))
        seen += names(found)
    assert seen == (list(range(count))[::-1] if newest_first else list(range(count)))
