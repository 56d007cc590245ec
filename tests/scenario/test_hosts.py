"""`hosts` of a target, and `--host`: what is taken, and what a mistake is told."""

from __future__ import annotations

import pytest

from ackgap.errors import ScenarioInvalid, UsageInvalid
from ackgap.scenario.flags import scenario_from_flags
from ackgap.scenario.load import load_scenario

HEAD = 'name = "x"\n[worker]\ncommand = "sh -c true"\n'
SERVICE = '[targets.{name}]\nprofile = "any"\nhosts = {hosts}\n'


def load(tmp_path, text):
    (tmp_path / "scenario.toml").write_text(text)
    return load_scenario(tmp_path)


def test_a_target_stands_for_hosts_in_any_spelling(tmp_path):
    scenario = load(tmp_path, HEAD + SERVICE.format(name="a", hosts='["API.Stripe.com.", "files.stripe.com"]'))
    assert dict(scenario.hosts) == {"api.stripe.com": "a", "files.stripe.com": "a"}


@pytest.mark.parametrize(
    "host", ["https://api.stripe.com", "api.stripe.com:443", "10.0.0.1", "localhost", "*.x.com", "api"]
)
def test_what_is_no_host_is_refused_with_its_key(tmp_path, host):
    with pytest.raises(ScenarioInvalid, match=r"targets\.a\.hosts") as told:
        load(tmp_path, HEAD + SERVICE.format(name="a", hosts=f'["{host}"]'))
    assert "such as api.stripe.com" in str(told.value)


def test_a_name_with_other_letters_is_told_how_it_is_asked_for(tmp_path):
    with pytest.raises(ScenarioInvalid, match=r"xn--bcher-kva\.example"):
        load(tmp_path, HEAD + SERVICE.format(name="a", hosts='["b\u00fccher.example"]'))
    assert from_flags("xn--bcher-kva.example=stripe").targets[0].hosts == ("xn--bcher-kva.example",)


@pytest.mark.parametrize(
    ("host", "said"),
    [("api", "one without a dot"), ("b\u00fc..example", "no host's name"), ("b\u00fccher", "no host's")],
)
def test_what_has_no_other_spelling_is_given_none(host, said):
    with pytest.raises(UsageInvalid, match=said) as told:
        from_flags(f"{host}=stripe")
    assert "such as api.stripe.com" in str(told.value)


def test_two_targets_cannot_stand_for_one_host(tmp_path):
    both = SERVICE.format(name="a", hosts='["x.com"]') + SERVICE.format(name="b", hosts='["x.com"]')
    with pytest.raises(ScenarioInvalid, match=r"Both 'a' and 'b' stand for x\.com"):
        load(tmp_path, HEAD + both)


def test_calls_to_a_host_would_go_past_toxiproxy(tmp_path):
    toxic = '[toxics.t]\nlink = "a"\ntype = "down"\n'
    with pytest.raises(ScenarioInvalid, match="past Toxiproxy"):
        load(tmp_path, HEAD + SERVICE.format(name="a", hosts='["x.com"]') + toxic)


def test_a_worker_may_not_reach_a_host_that_a_target_stands_for(tmp_path):
    text = HEAD + 'allow_hosts = ["*.stripe.com", "pypi.org"]\n' + SERVICE.format(name="a", hosts='["api.stripe.com"]')
    assert load(tmp_path, text).worker_hosts == ("pypi.org",)


def from_flags(*hosts):
    return scenario_from_flags(worker="sh -c true", targets=["stripe=stripe"], hosts=hosts)


def test_a_host_on_the_command_line():
    assert from_flags("api.stripe.com=stripe", "files.stripe.com=stripe").targets[0].hosts == (
        "api.stripe.com",
        "files.stripe.com",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("api.stripe.com", "not of the form HOST=NAME"),
        ("api.stripe.com=strip", "did you mean 'stripe'"),
        ("10.0.0.1=stripe", "is an address"),
    ],
)
def test_a_mistake_on_the_command_line_names_the_option(text, said):
    with pytest.raises(UsageInvalid, match=said) as told:
        from_flags(text)
    assert told.value.where == "--host"
