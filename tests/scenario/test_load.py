"""Loading a scenario file: what it becomes, and what every mistake says."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import pytest

from ackgap.errors import ScenarioInvalid
from ackgap.model.expectation import Proof
from ackgap.scenario.load import load_scenario
from ackgap.scenario.scenario import HoldProof, Scenario

MINIMAL = """
name = "tiny"
[worker]
command = "python3 agent.py"
[targets.tickets]
profile = "service.toml"
"""

FULL = """
name = "full"
title = "A title"
about = "Words."
[worker]
command = ["python3", "agent.py", "a b"]
resume_command = "python3 agent.py --resume 'a b'"
env = { TICKETS_URL = "{tickets.url}", JSON = '{"a": {"b": 1}}' }
store = ["state.json"]
external_state = ["/var/lib/agent"]
in_doubt_when = 'NEEDS \\w+'
mask = ['job-\\d+']
allow_hosts = ["example.org"]
requires = ["json"]
requires_hint = "it is in the standard library"
[targets.tickets]
profile = "service.toml"
protection = "none"
reads = ["tickets.look"]
settings = { price = 0.1, script = [{ say = ["a", "b"] }] }
[axes.mode]
title = "Mode"
[axes.mode.values.slow]
about = "Slowly."
env = { MODE = "slow" }
proofs = [{ kind = "before", pattern = "a#1:committed", other = "b#1:sending", incarnation = 1 }]
hold_proof = { hold = "a#*:committing", until = "*:sending", expect = "waits" }
[axes.mode.values.quick]
command = "python3 agent.py --quick"
protections = { tickets = "natural-key" }
[expect]
"tickets.create" = 2
[[approved]]
operation = "tickets.create"
field = "body.text"
approved_by = "tickets.ask"
artifact = "body.text"
join = [["body.case", "body.id"]]
[[order]]
before = "tickets.ask"
after = "tickets.create"
[[checks]]
name = "sums"
command = "python3 check.py"
verdict = "lost"
[limits]
life_s = 5
restarts = 1
[slices.some]
variants = [{ mode = "slow" }, { mode = ["slow", "quick"] }]
points = ["tickets.*"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "service.toml").touch()
    (tmp_path / "agent.py").touch()
    return tmp_path


def load(folder: Path, text: str) -> Scenario:
    (folder / "scenario.toml").write_text(text, encoding="utf-8")
    return load_scenario(folder)


def refusal(folder: Path, text: str) -> ScenarioInvalid:
    with pytest.raises(ScenarioInvalid) as raised:
        load(folder, text)
    assert str(folder / "scenario.toml") in raised.value.where
    assert raised.value.next_step
    return raised.value


def test_a_folder_and_its_file_are_the_same_scenario(folder: Path) -> None:
    assert load(folder, MINIMAL) == load_scenario(folder / "scenario.toml")


def test_a_minimal_scenario_has_one_variant_and_runs_in_its_own_folder(folder: Path) -> None:
    scenario = load(folder, MINIMAL)
    assert [str(variant) for variant in scenario.variants()] == ["default"]
    assert scenario.worker.directory == folder
    assert scenario.worker.command == ("python3", "agent.py")
    assert scenario.targets[0].profile == str(folder / "service.toml")


def test_every_key_arrives(folder: Path) -> None:
    scenario = load(folder, FULL)
    assert scenario.worker.command == ("python3", "agent.py", "a b")
    assert scenario.worker.resume_command == ("python3", "agent.py", "--resume", "a b")
    assert scenario.worker.env["JSON"] == '{"a": {"b": 1}}'
    assert scenario.worker.external_state == (Path("/var/lib/agent"),)
    assert scenario.worker.in_doubt_when == r"NEEDS \w+"
    assert scenario.worker.mask == (r"job-\d+",)
    assert scenario.targets[0].settings == {"price": 0.1, "script": [{"say": ["a", "b"]}]}
    slow, quick = scenario.axes[0].values
    assert slow.proofs == (
        Proof(axis="mode", value="slow", kind="before", pattern="a#1:committed", other="b#1:sending", incarnation=1),
    )
    assert slow.hold_proof == HoldProof(hold="a#*:committing", until="*:sending", expect="waits")
    assert quick.command == ("python3", "agent.py", "--quick")
    assert quick.protections == {"tickets": "natural-key"}
    assert scenario.declared_counts == {"tickets.create": 2}
    assert scenario.approvals[0].join == (("body.case", "body.id"),)
    assert (scenario.orders[0].before, scenario.orders[0].after) == ("tickets.ask", "tickets.create")
    assert scenario.checks[0].verdict == "lost"
    assert (scenario.limits.life_s, scenario.limits.restarts, scenario.limits.settle_s) == (5.0, 1, 2.0)
    assert scenario.slice("some").variants == ({"mode": ("slow",)}, {"mode": ("slow", "quick")})


def test_a_scenario_can_be_pickled(folder: Path) -> None:
    scenario = load(folder, FULL)
    assert pickle.loads(pickle.dumps(scenario)) == scenario


def test_axes_keep_the_order_of_the_file(folder: Path) -> None:
    assert [str(variant) for variant in load(folder, FULL).variants()] == ["mode=slow", "mode=quick"]


def test_the_interpreter_that_runs_ackgap_can_be_asked_for(folder: Path) -> None:
    scenario = load(folder, MINIMAL.replace('"python3 agent.py"', '"{python} agent.py"'))
    assert scenario.worker.command == (sys.executable, "agent.py")


def test_a_plain_python_of_a_users_scenario_is_left_to_the_users_path(folder: Path) -> None:
    assert load(folder, MINIMAL).worker.command[0] == "python3"


def test_a_python_that_is_not_on_path_is_the_one_that_runs_ackgap(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    assert load(folder, MINIMAL).worker.command[0] == sys.executable


def test_a_missing_file_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ScenarioInvalid, match="no scenario here") as raised:
        load_scenario(tmp_path / "nowhere")
    assert str(tmp_path / "nowhere") in raised.value.where


def test_a_file_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / "scenario.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioInvalid, match="not UTF-8"):
        load_scenario(folder)


def test_a_syntax_error_names_its_line(folder: Path) -> None:
    error = refusal(folder, 'name = "x"\n[worker\n')
    assert "not TOML" in error.what
    assert "line 2" in error.where


@pytest.mark.parametrize(
    ("old", "new", "key", "says"),
    [
        ('name = "tiny"', "", "name", "is missing"),
        ('name = "tiny"', 'nam = "tiny"\nname = "tiny"', "nam", "did you mean 'name'"),
        ('name = "tiny"', 'name = "a b"', "name", "cannot be a scenario's name"),
        ('name = "tiny"', "name = 7", "name", "valid string"),
        ("command =", "comand =", "worker.comand", "did you mean 'command'"),
        ('"python3 agent.py"', '""', "worker.command", "empty command"),
        ('"python3 agent.py"', '"python3 \'agent"', "worker.command", "No closing quotation"),
        ('"python3 agent.py"', "7", "worker.command", "must be a command"),
        ('"python3 agent.py"', '"no-such-program-xyz"', "worker.command", "no program 'no-such-program-xyz' on PATH"),
        ('"python3 agent.py"', '"./agent.sh"', "worker.command", "no program './agent.sh'"),
        ('"python3 agent.py"', '"./agent.py"', "worker.command", "not executable"),
        ('"python3 agent.py"', '"python3 {ticket.url}"', "worker.command", "did you mean 'tickets'"),
        ("[targets.", 'directory = "gone"\n[targets.', "worker.directory", "no directory"),
        ("[targets.", 'env = { A = "{tickets.uri}" }\n[targets.', "worker.env.A", "has no 'uri'"),
        ("[targets.", "env = { A = 1 }\n[targets.", "worker.env.A", "valid string"),
        ("[targets.", 'in_doubt_when = "("\n[targets.', "worker.in_doubt_when", "not a regular expression"),
        ("[targets.", 'mask = ["a", "("]\n[targets.', "worker.mask[1]", "not a regular expression"),
        ("[targets.", 'store = [""]\n[targets.', "worker.store[0]", "at least 1 character"),
        ("[targets.tickets]", '[targets."a b"]', 'targets."a b"', "cannot be a target's name"),
        ("[targets.tickets]", '[targets."a.b"]', 'targets."a.b"', "cannot be a target's name"),
        ('"service.toml"', '"no-such-profile"', "targets.tickets.profile", "no target profile 'no-such-profile'"),
        ('"service.toml"', '"gone.toml"', "targets.tickets.profile", "no target profile"),
    ],
)
def test_a_mistake_is_named_with_its_key(folder: Path, old: str, new: str, key: str, says: str) -> None:
    assert old in MINIMAL
    error = refusal(folder, MINIMAL.replace(old, new, 1))
    assert error.where.endswith(f"key {key}")
    assert says in error.what


AXIS = "[axes.mode.values.slow]\n"


@pytest.mark.parametrize(
    ("more", "key", "says"),
    [
        ("[axes.mode]\n", "axes.mode.values", "is missing"),
        ("[axes.mode.values]\n", "axes.mode.values", "at least 1 item"),
        ('[axes."a=b".values.x]\n', 'axes."a=b"', "cannot be an axis' name"),
        ('[axes.mode.values."a,b"]\n', 'axes.mode.values."a,b"', "cannot be a value's name"),
        ('[axes.mode.values."a@b"]\n', 'axes.mode.values."a@b"', "cannot be a value's name"),
        (AXIS + "envv = {}", "axes.mode.values.slow.envv", "did you mean 'env'"),
        (AXIS + 'env = { A = "{gone.url}" }', "axes.mode.values.slow.env.A", "names no target"),
        (AXIS + 'command = "no-such-program-xyz"', "axes.mode.values.slow.command", "cannot be started"),
        (AXIS + 'protections = { ticket = "none" }', "axes.mode.values.slow.protections.ticket", "mean 'tickets'"),
        (
            AXIS + 'proofs = [{ kind = "sen", pattern = "a" }]',
            "axes.mode.values.slow.proofs[0].kind",
            "'seen', 'never'",
        ),
        (
            AXIS + 'proofs = [{ kind = "before", pattern = "a" }]',
            "axes.mode.values.slow.proofs[0].other",
            "compares two points",
        ),
        (
            AXIS + 'proofs = [{ kind = "seen", pattern = "a", other = "b" }]',
            "axes.mode.values.slow.proofs[0].other",
            "has no other point",
        ),
        (
            AXIS + 'proofs = [{ kind = "keys_same", pattern = "create" }]',
            "axes.mode.values.slow.proofs[0].pattern",
            "not an operation",
        ),
        (
            AXIS + 'hold_proof = { hold = "a", until = "b", expect = "hangs" }',
            "axes.mode.values.slow.hold_proof.expect",
            "'waits' or 'goes_on'",
        ),
        ('[expect]\n"ticket.create" = 1', 'expect."ticket.create"', "did you mean 'tickets'"),
        ('[expect]\n"tickets.create" = -1', 'expect."tickets.create"', "greater than or equal to 0"),
        (
            '[[approved]]\noperation = "tickets.a"\nfield = "body.a"\napproved_by = "b"\nartifact = "body.b"',
            "approved[0].approved_by",
            "not an operation",
        ),
        ('[[order]]\nbefore = "tickets.a"\nafter = "gone.b"', "order[0].after", "begins with no target"),
        ('[[checks]]\nname = "a"\ncommand = "no-such-program-xyz"', "checks[0].command", "cannot be started"),
        ('[[checks]]\nname = "a"\ncommand = "python3"\nverdict = "ok"', "checks[0].verdict", "'duplicate', 'lost'"),
        ("[limits]\nlife_s = 0", "limits.life_s", "greater than 0"),
        ("[limits]\nlives = 2", "limits.lives", "did you mean 'life_s'"),
        ("[slices.s]\n", "slices.s", "the whole matrix"),
        ('[slices.s]\nvariants = [{ mood = "slow" }]', "slices.s.variants[0].mood", "no axis 'mood'"),
        ('[slices.s]\npoints = [""]', "slices.s.points[0]", "at least 1 character"),
    ],
)
def test_a_mistake_in_a_later_part_is_named_with_its_key(folder: Path, more: str, key: str, says: str) -> None:
    error = refusal(folder, MINIMAL + more)
    assert error.where.endswith(f"key {key}")
    assert says in error.what


def test_a_slice_may_only_name_values_that_exist(folder: Path) -> None:
    error = refusal(folder, MINIMAL + AXIS + '[slices.s]\nvariants = [{ mode = "slo" }]')
    assert "did you mean 'slow'" in error.what


def test_a_scenario_without_targets_is_refused(folder: Path) -> None:
    text = MINIMAL[: MINIMAL.index("[targets")]
    assert "'targets' is missing" in refusal(folder, text).what
    assert "needs at least one" in refusal(folder, text + "[targets]\n").what


def test_several_mistakes_are_told_at_once(folder: Path) -> None:
    error = refusal(folder, MINIMAL.replace("command", "comand") + "[limits]\nlives = 2\nlife_s = 0")
    assert error.what.count("Also wrong:") == 3


def test_two_checks_of_one_name_are_refused(folder: Path) -> None:
    check = '[[checks]]\nname = "a"\ncommand = "python3 x.py"\n'
    assert "Two checks are called 'a'" in refusal(folder, MINIMAL + check + check).what


def test_a_byte_order_mark_is_no_mistake(folder):
    file = folder / "scenario.toml"
    file.write_bytes(b"\xef\xbb\xbf" + MINIMAL.encode())
    assert load_scenario(file).name == load(folder, MINIMAL).name


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("[limits]\nlife_s = nan\n", "key limits.life_s"),
        ("[targets.tickets.settings]\nprice = inf\n", "key targets.tickets.settings.price"),
        ('[worker.env]\nA = "x\\u0000y"\n', "key worker.env.A"),
        ("[targets.tickets.settings]\ndeep = " + "[" * 100_000 + "\n", "deep"),
        ("[targets.tickets.settings]\ndeep = " + "[" * 70 + "]" * 70 + "\n", "nested"),
    ],
)
def test_values_that_nothing_can_be_done_with_are_refused_with_their_key(folder, lines, said):
    with pytest.raises(ScenarioInvalid) as caught:
        load(folder, MINIMAL + lines)
    assert said in str(caught.value)
    assert "scenario.toml" in str(caught.value)


def test_a_named_pipe_is_no_scenario_and_nobody_waits_for_it(folder):
    (folder / "scenario.toml").unlink(missing_ok=True)
    os.mkfifo(folder / "scenario.toml")
    with pytest.raises(ScenarioInvalid, match="named pipe"):
        load_scenario(folder / "scenario.toml")


def test_a_value_of_an_axis_may_set_up_a_target_and_later_axes_overrule(tmp_path):
    (tmp_path / "agent.py").write_text("")
    file = tmp_path / "scenario.toml"
    file.write_text("""
name = "s"
[worker]
command = "python agent.py"
[targets.model]
profile = "openai"
settings = { seed = 3, input_price = 1.0 }
[axes.drift.values.none]
settings = { model = { drift = ["none"] } }
[axes.drift.values.decision]
settings = { model = { drift = ["decision"], seed = 4 } }
[axes.price.values.high]
settings = { model = { input_price = 9.0, seed = 5 } }
""")
    scenario = load_scenario(file)
    none, decision = scenario.variants()
    assert scenario.targets_of(none)[0].settings == {"seed": 5, "input_price": 9.0, "drift": ["none"]}
    assert scenario.targets_of(decision)[0].settings == {"seed": 5, "input_price": 9.0, "drift": ["decision"]}


def test_settings_for_a_target_that_is_not_there_are_refused(tmp_path):
    (tmp_path / "agent.py").write_text("")
    file = tmp_path / "scenario.toml"
    file.write_text("""
name = "s"
[worker]
command = "python agent.py"
[targets.model]
profile = "openai"
[axes.drift.values.none]
settings = { modle = { drift = ["none"] } }
""")
    with pytest.raises(ScenarioInvalid, match="no target 'modle'; did you mean 'model'"):
        load_scenario(file)
