"""The rules of a protection, in words."""

from __future__ import annotations

import pytest

from ackgap.content import profile_names
from ackgap.target.profiles.describe import GRADES, KINDS, describe, grades_of, kind_of, lookup_in_words, rules_in_words
from ackgap.target.profiles.profile import load_profile


def words(profile, protection, operation):
    loaded = load_profile(profile)
    (found,) = [item for item in loaded.operations if item.name == operation]
    return " ".join(describe(loaded.protections[protection], found))


def test_a_key_is_told_with_its_place_window_and_what_a_repeat_gets():
    text = words("stripe", "idempotency-key", "charges.create")
    for said in ("`idempotency-key`", "24 hours", "400 and", "409 and", "more than 255 characters", "fail validation"):
        assert said in text


def test_a_natural_key_is_told_with_its_paths_and_when_objects_no_longer_count():
    text = words("case-management", "natural-key", "create")
    for said in ("`body.partner_id`", "`body.kind`", "`status` is `closed`", "nothing is made"):
        assert said in text


@pytest.mark.parametrize(
    ("profile", "protection", "operation"),
    [
        ("case-management", "none", "create"),
        ("case-management", "natural-key", "close"),
        ("stripe", "idempotency-key", "charges.list"),
    ],
)
def test_an_operation_that_is_not_guarded_has_no_words(profile, protection, operation):
    assert words(profile, protection, operation) == ""


def test_operations_with_the_same_rules_stand_together():
    profile = load_profile("case-management")
    groups = {names: bool(lines) for names, lines in rules_in_words(profile, profile.protections["natural-key"])}
    assert groups == {("create",): True, ("update", "close"): False}


def test_a_service_that_nobody_described_has_rules_for_every_operation():
    profile = load_profile("any")
    ((names, lines),) = rules_in_words(profile, profile.protections["idempotency-key"])
    assert names == ()
    assert any("24 hours" in line for line in lines)


@pytest.mark.parametrize("name", profile_names())
def test_every_rule_of_every_profile_has_words_that_are_sentences(name):
    profile = load_profile(name)
    for protection in profile.protections.values():
        for names, lines in rules_in_words(profile, protection):
            guarded = [item for item in profile.operations if item.name in names and protection.guards(item)]
            assert bool(lines) == bool(guarded) or not profile.described
            assert all(line.endswith(".") and line[0].isupper() and "None" not in line for line in lines)


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_has_its_part_of_the_catalogue_and_its_grades(name):
    profile = load_profile(name)
    assert kind_of(profile) in KINDS
    assert sum(grades_of(profile).values()) == len(profile.sources)
    assert set(grades_of(profile)) <= set(GRADES)


def test_the_parts_of_the_catalogue_are_what_their_names_say():
    assert [kind_of(load_profile(name)) for name in ("stripe", "approval", "any")] == list(KINDS)


OWN = """
name = "own"
title = "t"
about = "a"
default_protection = "keyed"
[[sources]]
claim = "made up"
date = "2026-11-29"
grade = "invented"
[[operations]]
name = "create"
method = "POST"
path = "/things"
does = "create"
effect = true
[protections.keyed]
title = "keyed"
[protections.keyed.key]
place = "body.token"
%s
"""


def own(tmp_path, lines):
    file = tmp_path / "own.toml"
    file.write_text(OWN % lines)
    profile = load_profile(str(file))
    return " ".join(describe(profile.protections["keyed"], profile.operations[0]))


LISTING = """
[[operations]]
name = "find"
method = "GET"
path = "/things"
does = "list"
collection = "things"
%s
[protections.none]
title = "none"
[settings.lag_s]
about = "a"
default = 0.0
"""


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", []),
        ("lag_s = 60", ["A new object is found only after 60 virtual seconds."]),
        (
            'lag_s = "{setting.lag_s}"',
            ["A new object is found only after as many virtual seconds as the setting `lag_s` says."],
        ),
        (
            'lag_s = 60\nconsistent_when = { "query.fresh" = "yes" }',
            ["A new object is found only after 60 virtual seconds.", "Not so where `query.fresh` is `yes`."],
        ),
        (
            'lag_s = 60\nconsistent_for = { "query.ids" = "id" }',
            [
                "A new object is found only after 60 virtual seconds.",
                "Not so for objects whose `id` is named in `query.ids`.",
            ],
        ),
        ('page = { size = 10, parameter = "query.page" }', ["Pages of 10; the next by `query.page`."]),
    ],
)
def test_what_a_lookup_may_overlook_has_words(tmp_path, lines, said):
    head = OWN.partition("[[operations]]")[0].replace('default_protection = "keyed"', 'default_protection = "none"')
    file = tmp_path / "own.toml"
    file.write_text(head + LISTING % lines)
    assert lookup_in_words(load_profile(str(file)).operations[0]) == said


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "Remembered for ever."),
        ("window_s = 300", "Remembered for 5 minutes from the first request on."),
        (
            'window_s = 90\nwindow_starts = "completion"',
            "Remembered for 90 seconds from the end of the first request on.",
        ),
        ("", "The key is `token` in the body; one key space."),
        (
            'window_s = 60\nwindow_starts = "object_end"',
            "for 1 minute, counted from the end of what the first request made.",
        ),
        ('scope = "endpoint"', "one key space for each method and path"),
        ('scope = ["body.group"]', "one key space for each `body.group`"),
        (
            'stores = "successes"\nnever_stores = ["429"]',
            "only answers of success are kept; never those with status 429",
        ),
        ('compares = "nothing"', "the repeat may say anything"),
        ('compares = ["body.a"]', "Compared under the same key: `body.a`."),
        ('mismatch = "dropped"', "answered as if it had been done, and dropped"),
        ('mismatch = "overwrite"', "written over the first one"),
        ('concurrent = "wait"', "waits for its answer"),
        ("", "gets through, undetected"),
        ("ignored = true", "nobody looks at it"),
        ("missing = { status = 400 }", "Without a key: 400."),
        ('replays = "current"', "about the object as it is now"),
    ],
)
def test_each_axis_of_a_key_rule_has_words(tmp_path, lines, said):
    assert said in own(tmp_path, lines)
