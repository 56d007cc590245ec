"""Targets in front of a real service, as a file or the command line names them."""

from __future__ import annotations

import json

import pytest

from ackgap.errors import ScenarioInvalid, UsageInvalid
from ackgap.scenario.load import load_scenario
from ackgap.scenario.upstream import UpstreamOptions, check_hosts, is_this_machine, with_options
from ackgap.source import Source


@pytest.fixture
def scenario(tmp_path):
    def write(target: str, worker: str = ""):
        text = f'name = "s"\n[worker]\ncommand = "sh"\n{worker}\n[targets.desk]\nprofile = "any"\n{target}\n'
        (tmp_path / "scenario.toml").write_text(text)
        return tmp_path

    return write


def test_a_scenario_names_upstream_and_recording(scenario, tmp_path):
    live = load_scenario(scenario('upstream = "https://desk.example:8443/v2"\nupstream_limit_s = 5.0')).targets[0]
    assert (live.upstream, live.upstream_host, live.upstream_limit_s) == (
        "https://desk.example:8443/v2",
        "desk.example",
        5.0,
    )
    (tmp_path / "desk.jsonl").write_text("")
    recorded = load_scenario(scenario('replay = "desk.jsonl"\nreplay_match = "path"')).targets[0]
    assert (recorded.replay, recorded.replay_match) == (tmp_path / "desk.jsonl", "path")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ('upstream = "desk.example"', "no URL of http or https"),
        ('upstream = "http://a b"', "no URL can have"),
        ('upstream = "http://desk.example:99999"', "no URL"),
        ('upstream = "http://desk.example?x=1"', "query or fragment"),
        ('upstream = "http://me:pw@desk.example"', "credentials"),
        ('replay = "missing.jsonl"', "There is no recording"),
        ('upstream = "http://localhost"\nreplay = "scenario.toml"', "cannot both ask"),
        ('replay_match = "roughly"', "replay_match"),
    ],
)
def test_a_mistake_names_the_key(scenario, target, said):
    with pytest.raises(ScenarioInvalid) as refused:
        load_scenario(scenario(target))
    assert said in str(refused.value)
    assert "targets.desk." in refused.value.where


def test_the_worker_itself_may_not_go_where_its_target_leads(scenario):
    loaded = load_scenario(
        scenario('upstream = "https://desk.example"', 'allow_hosts = ["desk.example", "other.example"]')
    )
    check_hosts(loaded)
    assert loaded.worker_hosts == ("other.example",)


@pytest.mark.parametrize(("allowed", "refused"), [("", True), ("other.example", True), ("*.example", False)])
def test_another_machine_has_to_be_allowed(scenario, allowed, refused):
    loaded = load_scenario(scenario('upstream = "https://desk.example"'))
    changed = with_options(loaded, UpstreamOptions(allow_hosts=(allowed,) if allowed else ()))
    if not refused:
        check_hosts(changed)
        return
    with pytest.raises(UsageInvalid) as error:
        check_hosts(changed)
    assert "--allow-host desk.example" in error.value.next_step


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("localhost", True),
        ("127.0.0.9", True),
        ("::1", True),
        ("api.localhost", True),
        ("10.0.0.1", False),
        ("x", False),
    ],
)
def test_this_machine_is_known_by_name_and_address(host, is_ours):
    assert is_this_machine(host) is is_ours


def test_a_recording_takes_the_place_of_the_upstream_that_the_file_names(scenario, tmp_path):
    loaded = load_scenario(scenario('upstream = "https://desk.example"'))
    (tmp_path / "r.jsonl").write_text("")
    (target,) = with_options(loaded, UpstreamOptions(replays=(f"desk={tmp_path / 'r.jsonl'}",))).targets
    assert (target.upstream, target.replay) == (None, tmp_path / "r.jsonl")


def test_a_file_is_for_one_service_and_a_directory_for_several(scenario, tmp_path):
    more = 'upstream = "http://localhost:1"\n[targets.model]\nprofile = "openai"\nupstream = "http://localhost:2"'
    loaded = load_scenario(scenario(more))
    with pytest.raises(UsageInvalid) as refused:
        with_options(loaded, UpstreamOptions(record=str(tmp_path / "r.jsonl")))
    assert "name a directory" in refused.value.next_step
    targets = with_options(loaded, UpstreamOptions(record=str(tmp_path / "r"))).targets
    assert [target.record for target in targets] == [tmp_path / "r" / "desk.jsonl", tmp_path / "r" / "model.jsonl"]


def test_a_replay_of_a_cell_finds_upstream_and_recording_again_but_records_nothing(scenario, tmp_path):
    folder = scenario("")
    (tmp_path / "r.jsonl").write_text("")
    results = tmp_path / "results"
    results.mkdir()
    options = UpstreamOptions(replays=(f"desk={tmp_path / 'r.jsonl'}",), allow_hosts=("x.example",))
    document = Source(path=folder, upstream=options).to_json(results)
    assert document["upstream"]["replays"] == ["desk=../r.jsonl"]
    (results / "source.json").write_text(json.dumps(document))
    again = Source.read(results).scenario()
    assert again.targets[0].replay == tmp_path / "r.jsonl"
    assert again.worker.allow_hosts == ("x.example",)
    live = UpstreamOptions(upstreams=("desk=http://localhost:1",), record=str(tmp_path / "n.jsonl"))
    assert Source(path=folder, upstream=live).scenario().targets[0].record == tmp_path / "n.jsonl"
    assert Source(path=folder, upstream=live).to_json(results)["upstream"] == {
        "upstreams": ("desk=http://localhost:1",)
    }
