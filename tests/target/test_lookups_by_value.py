"""Objects that are named by what is in them, answers that depend on them, and the search languages of services."""

from __future__ import annotations

import json
import time

import pytest

from ackgap.errors import ProfileInvalid
from ackgap.model.event import Decision
from ackgap.target.lookup.question import answers_question
from ackgap.target.profiles.operation import TextSearch

HEAD = """
name = "own"
title = "A service of one's own"
about = "For tests."
default_protection = "none"
[[sources]]
claim = "made up"
date = "2026-11-29"
grade = "invented"
[protections.none]
title = "none"
"""
RECORDS = (
    HEAD
    + """
[[operations]]
name = "create"
method = "POST"
path = "/records"
does = "create"
effect = true
object_prefix = "{payload.team}-"
[[operations]]
name = "upsert"
method = "PATCH"
path = "/records/{field}/{value}"
does = "upsert"
collection = "records"
effect = true
find_by = { "{path.field}" = "{path.value}" }
several = { status = 300, body = { found = "{count}" } }
object = { "*" = "{payload}", id = "{object.id}", "{path.field}" = "{path.value}" }
updated = { status = 200, body = "{object}" }
[[operations.outcomes]]
absent = true
when = { "query.updateOnly" = "true" }
answer = { status = 404 }
[[operations]]
name = "close"
method = "POST"
path = "/records/{id}/close"
does = "patch"
collection = "records"
effect = true
object = { status = "closed" }
appends = { notes = "{payload.note}" }
[[operations.outcomes]]
when = { "object.status" = "closed" }
answer = { status = 422, body = { closed = "{object.id}" } }
[[operations]]
name = "find"
method = "GET"
path = "/records"
does = "list"
collection = "records"
lag_s = 60
consistent_for = { "query.fresh" = "id", "body.fresh" = "id" }
filters = { labels = "labels" }
"""
)


def body(handled):
    return json.loads(handled.answer.body)


def found(handled):
    return [item["id"] for item in body(handled)["items"]]


def test_an_upsert_finds_its_object_by_a_value_or_makes_one(shop, profile_file):
    records = shop(profile_file(RECORDS))
    made = records.ask("PATCH", "/records/ref/7", {"text": "one"})
    again = records.ask("PATCH", "/records/ref/7", {"text": "one"})
    other = records.ask("PATCH", "/records/ref/7", {"text": "reworded"})
    assert [made.decision, again.decision, other.decision] == [Decision.APPLIED, Decision.EXISTING, Decision.APPLIED]
    assert body(made)["ref"] == "7"
    assert body(other) == {**body(made), "text": "reworded"}
    assert records.ask("PATCH", "/records/ref/8", {"text": "one"}).effect_object_id != made.effect_object_id


def test_an_upsert_that_finds_several_writes_nothing(shop, profile_file):
    records = shop(profile_file(RECORDS))
    for _ in range(2):
        records.ask("POST", "/records", {"ref": "7"})
    torn = records.ask("PATCH", "/records/ref/7", {"text": "one"})
    assert (torn.decision, torn.answer.status, body(torn)) == (Decision.REJECTED, 300, {"found": 2})


def test_an_answer_may_depend_on_whether_the_object_exists(shop, profile_file):
    records = shop(profile_file(RECORDS))
    assert records.ask("PATCH", "/records/ref/7?updateOnly=true", {"text": "one"}).answer.status == 404
    records.ask("PATCH", "/records/ref/7", {"text": "one"})
    assert records.ask("PATCH", "/records/ref/7?updateOnly=true", {"text": "two"}).decision is Decision.APPLIED


def test_an_answer_may_depend_on_what_the_object_is_like(shop, profile_file):
    records = shop(profile_file(RECORDS))
    made = records.ask("POST", "/records", {"team": "A"}).effect_object_id
    closed = records.ask("POST", f"/records/{made}/close", {"note": "done"})
    again = records.ask("POST", f"/records/{made}/close", {"note": "done"})
    assert body(closed)["notes"] == ["done"]
    assert (again.decision, again.answer.status, body(again)) == (Decision.REJECTED, 422, {"closed": made})


def test_a_patch_makes_no_list_longer_by_what_was_not_sent(shop, profile_file):
    records = shop(profile_file(RECORDS))
    made = records.ask("POST", "/records", {"team": "A", "notes": ["first"]}).effect_object_id
    assert body(records.ask("POST", f"/records/{made}/close", {"other": 1}))["notes"] == ["first"]


def test_ids_are_numbered_by_their_prefix(shop, profile_file):
    records = shop(profile_file(RECORDS))
    made = [records.ask("POST", "/records", {"team": team}).effect_object_id for team in ("A", "B", "A")]
    assert made == ["A-0001", "B-0001", "A-0002"]


def test_objects_that_are_asked_for_by_name_are_seen_without_lag(shop, profile_file):
    records = shop(profile_file(RECORDS))
    for _ in range(3):
        records.ask("POST", "/records", {"team": "A"})
    assert found(records.ask("GET", "/records")) == []
    assert found(records.ask("GET", "/records?fresh=A-0003,A-0001")) == ["A-0001", "A-0003"]
    assert found(records.ask("GET", "/records", {"fresh": ["A-0002"]})) == ["A-0002"]
    records.clock.move(60)
    assert found(records.ask("GET", "/records?fresh=A-0002")) == ["A-0001", "A-0002", "A-0003"]


def test_a_filter_finds_one_value_of_a_list(shop, profile_file):
    records = shop(profile_file(RECORDS))
    records.ask("POST", "/records", {"team": "A", "labels": ["x", "run-7"]})
    records.clock.move(60)
    assert found(records.ask("GET", "/records?labels=run-7")) == ["A-0001"]
    assert found(records.ask("GET", "/records?labels=run")) == []


def test_an_outcome_says_when_it_is_given(profile_file, shop):
    with pytest.raises(ProfileInvalid, match="an outcome says when"):
        shop(profile_file(RECORDS.replace('when = { "object.status" = "closed" }\n', "")))


def test_a_text_of_a_form_can_be_shown_as_the_number_that_it_is(shop, profile_file):
    text = HEAD + (
        '[[operations]]\nname = "pay"\nmethod = "POST"\npath = "/pay"\ndoes = "create"\neffect = true\n'
        'object = { amount = "{number.payload.amount}", id = "{object.id}" }\n'
    )
    shown = []
    for amount in ("2000", "-1.5", "2000 eur", "١", ""):
        sent = f"amount={amount}".encode()
        made = shop(profile_file(text)).ask("POST", "/pay", sent, content_type="application/x-www-form-urlencoded")
        shown.append(body(made)["amount"])
    assert shown == [2000, -1.5, "2000 eur", "١", ""]


def test_an_id_may_be_made_of_the_number_of_the_object(shop, profile_file):
    text = HEAD + (
        '[[operations]]\nname = "create"\nmethod = "POST"\npath = "/things"\ndoes = "create"\neffect = true\n'
        'object_id = "{md5.object.id}"\n'
    )
    things = shop(profile_file(text))
    made = [things.ask("POST", "/things", {}).effect_object_id for _ in range(2)]
    assert [len(object_id) for object_id in made] == [32, 32]
    assert made[0] != made[1]


ISSUE = {
    "key": "OPS-7",
    "project": {"key": "OPS"},
    "summary": "Review of partner 4471",
    "labels": ["run-7", "bank"],
    "metadata": {"order": "7"},
    "active": True,
}
LANGUAGE = TextSearch(
    parameter="query.q",
    fields={"project": "project.key", "summary": "summary", "labels": "labels", "metadata": "metadata", "from": "kind"},
    only_clauses=True,
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("project = OPS", True),
        ('project = "ops" AND labels = "run-7" ORDER BY created DESC', True),
        ("project = OPS AND labels = run-8", False),
        ('project = OPS AND summary ~ "4471 review"', True),
        ('summary ~ "4472"', False),
        ("summary like '%partner%'", True),
        ("summary not like '%partner%'", False),
        ("labels in (run-8, 'run-7')", True),
        ("labels not in (run-8, run-9)", True),
        ("labels != run-7", False),
        ("project:XYZ OR labels:bank", True),
        ("project:XYZ OR labels:other", False),
        ('summary ~ "either or" OR project = OPS', True),
        ("-project:OPS", False),
        ("metadata['order']:'7'", True),
        ('metadata["order"]:"8"', False),
        ("metadata.order:7", True),
        ("unknown = 9", True),
        ("", True),
    ],
)
def test_the_clauses_of_search_languages_are_understood(question, answer):
    assert answers_question(LANGUAGE, question, ISSUE) is answer


def test_a_language_of_fields_alone_reaches_every_field():
    language = TextSearch(parameter="query.q", fields={"*": "*"}, only_clauses=True)
    assert answers_question(language, "key=OPS-7^active=true^ORDERBYkey", ISSUE)
    assert not answers_question(language, "key=OPS-7^active=false", ISSUE)
    assert answers_question(language, "key=OPS-8^ORkey=OPS-7", ISSUE)


def test_words_beside_the_clauses_are_looked_for_where_the_language_has_some():
    language = TextSearch(parameter="query.q", paths=("summary",), fields={"project": "project.key"})
    assert answers_question(language, "partner project:OPS type:issue", ISSUE)
    assert answers_question(language, '"partner 4471" project:OPS', ISSUE)
    assert not answers_question(language, "run-7 project:OPS", ISSUE)
    assert not answers_question(language, "partner project:XYZ", ISSUE)


def test_a_source_of_records_is_a_clause():
    language = TextSearch(parameter="query.q", fields={"from": "kind", "ref__c": "Ref__c"}, only_clauses=True)
    record = {"kind": "Case", "Ref__c": "7"}
    assert answers_question(language, "SELECT Id FROM Case WHERE Ref__c = '7' LIMIT 1", record)
    assert not answers_question(language, "SELECT Id FROM Account WHERE Ref__c = '7'", record)


@pytest.mark.parametrize("piece", ["a", "a ", "a.", " ", '"', "a=(", "a='", "-", "a[", " or ", "\\", "^or"])
def test_no_question_takes_longer_than_its_length_warrants(piece):
    question = piece * (200_000 // len(piece))
    began_s = time.process_time()
    answers_question(LANGUAGE, question, ISSUE)
    # It takes under a second; in a time that grew with the square of the length it would take minutes.
    assert time.process_time() - began_s < 5
