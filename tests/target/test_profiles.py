"""The shipped profiles, and how mistakes in profiles are told."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from ackgap.content import find_profile, profile_names, scenarios_directory, targets_directory
from ackgap.errors import ProfileInvalid, ScenarioInvalid, UsageInvalid
from ackgap.model.event import Decision, Note
from ackgap.target.profiles.facts import chosen_settings, facts
from ackgap.target.profiles.profile import load_profile
from ackgap.target.profiles.rules import ConditionRule, KeyRule, NaturalKeyRule

DAY_S = 86400
HEADER = """
name = "own"
title = "t"
about = "a"
default_protection = "none"
[[sources]]
claim = "made up"
date = "2026-11-29"
grade = "invented"
"""
OPERATION = """
[[operations]]
name = "create"
method = "POST"
path = "/things"
does = "create"
effect = true
"""
NONE = """
[protections.none]
title = "none"
"""
CHARGE = b"amount=2000&currency=eur&metadata[order]=7"
FORM = "application/x-www-form-urlencoded"


def body(handled):
    return json.loads(handled.answer.body)


# ------------------------------------------------------------------------------------------------------ shipped ones


def test_the_first_profiles_are_shipped():
    assert {
        "any", "approval", "case-management", "model", "notification", "search", "stripe"
    } <= set(profile_names())  # fmt: skip


@pytest.mark.parametrize("name", profile_names())
def test_each_shipped_profile_loads_and_each_claim_has_a_source(name):
    profile = load_profile(name)
    assert profile.name == name
    assert profile.sources
    for source in profile.sources:
        assert source.url or source.grade in {"own", "invented", "unknown"}, source.claim
    for operation in profile.operations:
        assert not operation.effect or not profile.described or operation.identity, operation.name
        assert operation.effect or operation.paid or operation.does in {
            "get", "list", "models", "anthropic_models", "count_tokens"
        }, operation.name  # fmt: skip


@pytest.mark.parametrize("name", profile_names())
def test_the_protections_of_each_shipped_profile_have_their_facts(name):
    profile = load_profile(name)
    for protection in profile.protections.values():
        for fact in facts(profile, "t", protection.name).values():
            assert fact.protection == protection.name
            assert fact.protection not in fact.could_protect
            assert not fact.honours_keys or fact.key_window_s is None or fact.key_window_s >= 300


RULES = {"key": KeyRule, "natural_key": NaturalKeyRule, "condition": ConditionRule}


@pytest.mark.parametrize("name", profile_names())
def test_what_is_unknown_of_a_protection_names_an_axis_and_is_among_the_sources(name):
    profile = load_profile(name)
    for protection in profile.protections.values():
        for axis, served in protection.unknown.items():
            rule, _, attribute = axis.partition(".")
            assert not attribute or attribute in {each.name for each in fields(RULES[rule])}, axis
            assert served, axis
        grades = {source.grade for source in profile.sources}
        assert not protection.unknown or "unknown" in grades, protection.name


def test_facts_say_what_could_have_protected():
    fact = facts(load_profile("case-management"), "tickets", "none")["tickets.create"]
    assert fact.could_protect == ("idempotency-key", "natural-key")
    assert (fact.noun, fact.effectful, fact.honours_keys, fact.honours_natural_key) == (
        ("ticket", "tickets"),
        True,
        False,
        False,
    )
    assert facts(load_profile("case-management"), "tickets", "natural-key")["tickets.create"].honours_natural_key
    update = facts(load_profile("case-management"), "tickets", "natural-key")["tickets.update"]
    assert (update.honours_natural_key, update.could_protect) == (False, ("idempotency-key",))


def test_facts_follow_the_scenarios_reads_and_price():
    found = facts(load_profile("search"), "s", None, (), {"price": 0.5})["s.query"]
    assert (found.paid, found.price, found.currency, found.effectful) == (True, 0.5, "EUR", False)
    assert not facts(load_profile("notification"), "n", None, ("n.send",))["n.send"].effectful


def test_stripe_gives_the_first_answer_again_within_24_hours_and_charges_again_afterwards(shop):
    stripe = shop("stripe")
    first = stripe.ask("POST", "/v1/charges", CHARGE, key="k", content_type=FORM)
    assert body(first)["object"] == "charge"
    assert body(first)["metadata"] == {"order": "7"}
    stripe.clock.move(DAY_S - 1)
    again = stripe.ask("POST", "/v1/charges", CHARGE, key="k", content_type=FORM)
    assert (again.decision, again.answer.body) == (Decision.REPLAYED, first.answer.body)
    stripe.clock.move(72 * 3600)
    late = stripe.ask("POST", "/v1/charges", CHARGE, key="k", content_type=FORM)
    assert late.decision is Decision.APPLIED
    assert [item["id"] for item in body(stripe.ask("GET", "/v1/charges"))["data"]] == ["ch_0002", "ch_0001"]


def test_stripe_refuses_other_parameters_or_another_endpoint_under_the_same_key(shop):
    stripe = shop("stripe")
    stripe.ask("POST", "/v1/charges", CHARGE, key="k", content_type=FORM)
    for path, sent in (("/v1/charges", CHARGE + b"0"), ("/v1/payment_intents", CHARGE)):
        refused = stripe.ask("POST", path, sent, key="k", content_type=FORM)
        assert (refused.answer.status, body(refused)["error"]["type"]) == (400, "idempotency_error")


def test_stripe_answers_a_key_in_use_with_a_conflict(shop):
    stripe = shop("stripe")
    stripe.begin("POST", "/v1/refunds", b"charge=ch_0001", key="k", content_type=FORM)
    busy = stripe.ask("POST", "/v1/refunds", b"charge=ch_0001", key="k", content_type=FORM)
    assert (busy.decision, busy.answer.status) == (Decision.CONFLICT, 409)
    assert body(busy)["error"]["code"] == "idempotency_key_in_use"


def test_stripe_keeps_a_declined_charge_and_nothing_of_an_invalid_one(shop):
    stripe = shop("stripe")
    declined = CHARGE + b"&source=tok_chargeDeclined"
    assert stripe.ask("POST", "/v1/charges", declined, key="d", content_type=FORM).answer.status == 402
    assert stripe.ask("POST", "/v1/charges", declined, key="d", content_type=FORM).decision is Decision.REPLAYED
    assert stripe.ask("POST", "/v1/charges", b"amount=1", key="i", content_type=FORM).answer.status == 400
    assert stripe.ask("POST", "/v1/charges", CHARGE, key="i", content_type=FORM).decision is Decision.APPLIED


def test_stripe_refuses_a_key_of_more_than_255_characters(shop):
    stripe = shop("stripe")
    assert stripe.ask("POST", "/v1/charges", CHARGE, key="k" * 256, content_type=FORM).answer.status == 400
    assert stripe.ask("POST", "/v1/charges", CHARGE, key="k" * 255, content_type=FORM).decision is Decision.APPLIED


def test_a_message_is_sent_each_time_whatever_key_comes_with_it(shop):
    desk = shop("notification")
    message = {"to": "risk-desk", "text": "done"}
    assert [desk.ask("POST", "/messages", message, key="k").decision for _ in range(2)] == [Decision.APPLIED] * 2
    assert body(desk.ask("GET", "/messages?to=risk-desk"))["count"] == 2


def test_the_same_text_about_the_same_case_is_the_request_that_exists(shop):
    inbox = shop("approval")
    first = inbox.ask("POST", "/approvals", {"case_id": "c", "text": "t"})
    again = inbox.ask("POST", "/approvals", {"case_id": "c", "text": "t"})
    other = inbox.ask("POST", "/approvals", {"case_id": "c", "text": "t, reworded"})
    assert [first.decision, again.decision, other.decision] == [Decision.APPLIED, Decision.EXISTING, Decision.APPLIED]
    assert again.answer.object_id == first.effect_object_id
    assert inbox.profile.operations[0].artifact == "body.text"


def test_a_person_decides_after_the_virtual_time_that_was_set(shop):
    inbox = shop("approval", settings={"decision": "rejected", "after_s": 72 * 3600})
    made = inbox.ask("POST", "/approvals", {"case_id": "c", "text": "t"})
    path = f"/approvals/{made.effect_object_id}"
    assert (body(made)["status"], body(inbox.ask("GET", path)).get("decision")) == ("pending", None)
    inbox.clock.move(72 * 3600)
    assert body(inbox.ask("GET", path))["decision"] == "rejected"
    assert [item["decision"] for item in body(inbox.ask("GET", "/approvals?case_id=c"))["items"]] == ["rejected"]
    assert body(inbox.ask("GET", "/approvals?case_id=d"))["count"] == 0


def test_a_search_finds_the_same_each_time_and_is_charged_each_time(shop):
    found = [{"title": "scripted"}]
    service = shop("search", settings={"results": [{"when": {"q": "aurelia", "source": "news"}, "results": found}]})
    one, two = (service.ask("GET", "/search?q=Aurelia+Trade&source=news") for _ in range(2))
    assert body(one)["results"] == found
    assert (one.answer, one.cost) == (two.answer, 0.04)
    assert body(service.ask("POST", "/search", {"q": "Aurelia", "source": "news"}))["results"] == found
    invented = [body(service.ask("GET", "/search?q=x&source=registry")) for _ in range(2)]
    assert invented[0] == invented[1]
    assert invented[0]["count"] == 2


def test_a_ticket_can_be_looked_up_by_what_it_is_about(shop):
    tickets = shop("case-management")
    for partner in ("1", "2"):
        tickets.ask("POST", "/tickets", {"partner_id": partner, "kind": "review", "reference": f"r{partner}"})
    assert [t["id"] for t in body(tickets.ask("GET", "/tickets?reference=r2"))["items"]] == ["T-0002"]
    assert body(tickets.ask("GET", "/tickets/T-0001"))["partner_id"] == "1"
    assert tickets.ask("GET", "/tickets/T-0009").answer.status == 404
    assert tickets.ask("POST", "/tickets", {"kind": "review"}).decision is Decision.REJECTED


# ---------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = ", ["is not TOML"]),
        (HEADER + "colour = 1" + OPERATION + NONE, ["colour"]),
        (HEADER + OPERATION.replace("effect", "efect") + NONE, ["operations[create].efect", "did you mean 'effect'"]),
        (HEADER + OPERATION.replace('"create"\neffect', '"make"\neffect') + NONE, ["operations[create].does", "'put'"]),
        (HEADER + OPERATION.replace('"POST"', '"SEND"') + NONE, ["operations[create].method", "'PATCH'"]),
        (HEADER + OPERATION + "price = -1" + NONE, ["operations[create].price"]),
        (HEADER + OPERATION + 'identity = ["partner"]' + NONE, ["operations[create].identity"]),
        (HEADER + OPERATION + OPERATION + NONE, ["operations[create].name", "used once"]),
        (HEADER + OPERATION + 'object = { id = "{thing.id}" }' + NONE, ["operations[create]", "{thing.id}", "{object"]),
        (HEADER + OPERATION + 'object = { id = "{setting.x}" }' + NONE, ["operations[create]", "names no setting"]),
        (HEADER + OPERATION + "[protections.other]\ntitle = 'x'", ["default_protection", "Allowed: other"]),
        (HEADER + OPERATION, ["protections", "missing"]),
        (HEADER + NONE, ["operations"]),
        (HEADER + OPERATION + NONE + "[protections.none.key]\nplace = 'cookie.x'", ["protections.none.key.place"]),
        (
            HEADER + OPERATION + NONE + "[protections.none.key]\nplace = 'header.k'\nstores = 'some'",
            ["protections.none.key.stores", "'successes'"],
        ),
        (
            HEADER + OPERATION + NONE + "[protections.none.key]\nplace = 'header.k'\noperations = ['update']",
            ["protections.none.key.operations", "Allowed: create"],
        ),
        (HEADER.replace('"invented"', '"vendor"') + OPERATION + NONE, ["sources[0].url"]),
        (HEADER.replace('"invented"', '"hearsay"') + OPERATION + NONE, ["sources[0].grade", "'third-party'"]),
    ],
)  # fmt: skip
def test_a_mistake_in_a_profile_is_told_with_file_key_and_allowed_values(profile_file, text, says):
    file = profile_file(text)
    with pytest.raises(ProfileInvalid) as raised:
        load_profile(str(file))
    message = str(raised.value)
    assert str(file) in message
    for words in says:
        assert words in message


def test_an_unknown_profile_gets_a_suggestion():
    with pytest.raises(UsageInvalid, match="did you mean 'case-management'"):
        find_profile("case-managment")
    with pytest.raises(UsageInvalid, match=r"no target profile at '\./nowhere\.toml'"):
        find_profile("./nowhere.toml")


@pytest.mark.parametrize(
    ("profile", "settings", "place"),
    [
        ("model", {"script": ["hello"]}, r"settings\.script\[0\]"),
        ("model", {"script": [{"when": {"turn": 1}}]}, r"settings\.script\[0\]"),
        ("model", {"script": [{"when": {"has": "x"}, "say": "x"}]}, r"settings\.script\[0\]\.when"),
        ("model", {"script": [{"call": {"arguments": []}}]}, r"settings\.script\[0\]\.call"),
        ("model", {"script": "x"}, r"settings\.script"),
        ("search", {"results": [{"when": {}, "found": []}]}, r"settings\.results\[0\]"),
        ("search", {"price": "free"}, r"settings\.price"),
    ],
)
def test_a_mistake_in_a_script_is_told_before_anything_runs(profile, settings, place):
    with pytest.raises(ScenarioInvalid, match=rf"targets\.t\.{place}"):
        chosen_settings(load_profile(profile), "t", settings)


def test_shipped_content_is_found_beside_the_package():
    assert (targets_directory() / "any.toml").is_file()
    assert scenarios_directory().is_dir()


def test_installed_content_wins_and_missing_content_says_how_to_get_it(monkeypatch, tmp_path):
    from ackgap import content
    from ackgap.errors import HarnessFailed

    package = tmp_path / "site-packages" / "ackgap"
    (package / "_content" / "targets").mkdir(parents=True)
    monkeypatch.setattr(content, "_PACKAGE", package)
    assert content.targets_directory() == package / "_content" / "targets"
    with pytest.raises(HarnessFailed, match="force-reinstall"):
        content.scenarios_directory()


def test_a_person_who_takes_three_days_lets_virtual_time_go_by_when_a_worker_asks_in_vain(bench, run):
    async def scene():
        async with bench("approval", settings={"after_s": 72 * 3600.0}) as service, service.connect() as wire:
            before_s = service.clock.now_s()
            asked = (await wire.ask("POST", "/approvals", {"case_id": "1", "text": "t"})).json()
            first = (await wire.ask("GET", f"/approvals/{asked['id']}")).json()
            again = (await wire.ask("GET", f"/approvals/{asked['id']}")).json()
            passed_s = service.clock.now_s() - before_s
            notes = [note.code for note in service.recorder.of(Note)]
        return first["status"], again["status"], passed_s, notes

    first, again, passed_s, notes = run(scene())
    assert (first, again) == ("pending", "decided")
    assert 72 * 3600 <= passed_s < 72 * 3600 + 60
    assert notes == ["time_passed"]


def test_a_decision_that_is_there_lets_no_time_go_by(bench, run):
    async def scene():
        async with bench("approval") as service, service.connect() as wire:
            asked = (await wire.ask("POST", "/approvals", {"case_id": "1", "text": "t"})).json()
            await wire.ask("GET", f"/approvals/{asked['id']}")
            return service.clock.offset_s

    assert run(scene()) == 0.0
