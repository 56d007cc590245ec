"""What the words of `ackgap serve` mean, and how mistakes in them are told."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ackgap.errors import ProfileInvalid, UsageInvalid
from ackgap.serve.spec import environment, seconds_of, served_targets
from ackgap.target.profiles.profile import load_profile

OWN = """
name = "own"
title = "t"
about = "a"
default_protection = "none"
[[sources]]
claim = "made up"
date = "2026-11-29"
grade = "invented"
[protections.none]
title = "none"
[[operations]]
name = "create"
method = "POST"
path = "/things"
does = "create"
effect = true
"""


@pytest.mark.parametrize(
    ("text", "name", "profile", "port"),
    [
        ("stripe", "stripe", "stripe", 0),
        ("stripe=4242", "stripe", "stripe", 4242),
        ("stripe=0", "stripe", "stripe", 0),
        ("second:stripe", "second", "stripe", 0),
        ("second:stripe=4243", "second", "stripe", 4243),
    ],
)
def test_a_word_names_target_profile_and_port(text, name, profile, port):
    (target,) = served_targets([text])
    assert (target.name, target.profile.name, target.port) == (name, profile, port)


def test_a_path_names_a_profile_of_one_s_own_and_may_hold_an_equals_sign(tmp_path):
    folder = tmp_path / "a=1"
    folder.mkdir()
    file = folder / "desk.toml"
    file.write_text(OWN)
    for text, name, port in (
        (f"{file}", "own", 0),
        (f"{file}=4242", "own", 4242),
        (f"front:{file}=4242", "front", 4242),
    ):
        (target,) = served_targets([text])
        assert (target.name, target.profile.name, target.port) == (name, "own", port)


def test_two_targets_of_one_profile_have_each_their_own_protection_and_settings():
    targets = served_targets(
        ["approval", "second.one:approval"],
        protections=["second.one=none"],
        settings=["second.one.after_s=3600", "approval.decision=rejected"],
    )
    assert [(target.protection, dict(target.settings)) for target in targets] == [
        (None, {"decision": "rejected"}),
        ("none", {"after_s": 3600}),
    ]


def test_the_protection_of_the_only_target_needs_no_name():
    (target,) = served_targets(["case-management"], protections=["natural-key"])
    assert target.protection == "natural-key"


def test_a_setting_may_be_read_from_a_file(tmp_path):
    file = tmp_path / "script.json"
    file.write_text(json.dumps([{"say": ["yes"]}]))
    (target,) = served_targets(["model"], settings=[f"model.script=@{file}"])
    assert target.settings == {"script": [{"say": ["yes"]}]}


@pytest.mark.parametrize(
    ("words", "more", "said"),
    [
        (["strip"], {}, "did you mean 'stripe'?"),
        (["./none.toml"], {}, "There is no target profile at './none.toml'"),
        (["stripe=x"], {}, "'x' is not a port"),
        (["stripe=70000"], {}, "'70000' is not a port"),
        (["stripe=-1"], {}, "'-1' is not a port"),
        (["=4242"], {}, "names no profile"),
        (["pay:"], {}, "names no profile"),
        ([":stripe"], {}, "cannot name a target"),
        (["a/b:stripe"], {}, "cannot name a target"),
        (["stripe", "stripe=1"], {}, "Two targets would be called 'stripe'"),
        (["stripe=4242", "any=4242"], {}, "Two targets would listen on port 4242"),
        (["stripe", "any"], {"protections": ["none"]}, "does not say whose protection"),
        (["stripe"], {"protections": ["strip=none"]}, "did you mean 'stripe'?"),
        (["any"], {"protections": ["idempotency-keys"]}, "did you mean 'idempotency-key'?"),
        (["stripe"], {"settings": ["after_s"]}, "NAME.SETTING=VALUE"),
        (["approval"], {"settings": ["aproval.after_s=1"]}, "did you mean 'approval'?"),
        (["approval"], {"settings": ["approval.after=1"]}, "did you mean 'after_s'?"),
        (["model"], {"settings": ["model.script=@none.json"]}, "cannot be read from 'none.json'"),
    ],
)
def test_a_mistake_is_told_with_what_is_allowed(words, more, said):
    with pytest.raises(UsageInvalid) as caught:
        served_targets(words, **more)
    assert said in str(caught.value)
    assert caught.value.where
    assert caught.value.next_step


def test_a_mistake_in_a_profile_of_one_s_own_names_file_and_key(tmp_path):
    file = tmp_path / "desk.toml"
    file.write_text(OWN.replace('does = "create"', 'does = "crate"'))
    with pytest.raises(ProfileInvalid) as caught:
        served_targets([str(file)])
    assert "desk.toml" in str(caught.value)
    assert "does" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"), [("72h", 259_200), ("+72h", 259_200), ("90m", 5_400), ("1.5d", 129_600), ("30", 30), ("0", 0)]
)
def test_a_duration_is_a_number_and_a_unit(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "-3h", "3 h", "1e9", "nan", "inf", "72H", "١h", "40000d", "9" * 400])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match=r"duration|hundred years"):
        seconds_of(text)


def test_the_environment_has_a_line_for_each_target_and_those_that_clients_read():
    stripe, model = load_profile("stripe"), load_profile("model")
    lines = environment(
        {"pay-desk": (stripe, "http://h:1"), "model": (model, "http://h:2"), "2nd": (model, "http://h:3")}
    )
    assert lines["PAY_DESK_URL"] == "http://h:1"
    assert lines["OPENAI_BASE_URL"] == "http://h:2/v1"
    assert lines["TARGET_2ND_URL"] == "http://h:3"


def test_the_environment_has_the_address_of_tools_only_for_services_that_can_be_tools():
    profiles = {name: (load_profile(name), f"http://h:{name}") for name in ("stripe", "model", "any")}
    lines = environment(profiles)
    assert {name: value for name, value in lines.items() if name.endswith("_MCP")} == {
        "STRIPE_MCP": "http://h:stripe/mcp"
    }


def test_the_clients_of_aws_find_each_service_by_a_variable_of_its_own():
    stripe = load_profile("stripe")
    served = {name: (replace(stripe, name=name), f"http://h:{name}") for name in ("s3", "sqs-fifo", "s3d")}
    lines = environment(served)
    assert lines["AWS_ENDPOINT_URL_S3"] == "http://h:s3"
    assert lines["AWS_ENDPOINT_URL_SQS"] == "http://h:sqs-fifo"
    assert lines["AWS_ACCESS_KEY_ID"] == "unused"
    assert len([name for name in lines if name.startswith("AWS_ENDPOINT")]) == 2
