"""`ackgap targets`: the catalogue, one profile explained, its file, and a profile of one's own checked."""

from __future__ import annotations

import pytest

from ackgap import cli
from ackgap.content import profile_names, targets_directory


@pytest.fixture
def ackgap(capsys):
    def run(*arguments):
        status = cli.main(arguments)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_the_catalogue_has_every_profile_with_its_grades_in_its_part(ackgap):
    status, out, _ = ackgap("targets")
    assert status == 0
    for name in profile_names():
        assert f"\n{name} " in out
    assert out.index("Real services") < out.index("\nstripe") < out.index("Made up") < out.index("\napproval")
    assert "vendor" in out


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_is_explained(ackgap, name):
    status, out, _ = ackgap("targets", name)
    assert status == 0
    assert out.startswith(f"{name}: ")
    assert "Sources" in out


def test_an_explanation_has_rules_errors_sources_and_what_is_not_known(ackgap):
    _, out, _ = ackgap("targets", "stripe")
    for said in (
        "POST /v1/charges",
        "body.amount",
        "Remembered for 24 hours",
        "idempotency_key_in_use",
        "- unknown_path: 404",
        "vendor, 2026-11-29, https://docs.stripe.com/idempotency\n",
        "Not known; the weakest reading is served",
    ):
        assert said in out


def test_operations_that_a_protection_leaves_out_are_named(ackgap):
    assert "update, close: every request acts" in ackgap("targets", "case-management")[1]


@pytest.mark.parametrize("name", profile_names())
def test_the_file_of_a_profile_is_printed_as_it_is(ackgap, name):
    assert ackgap("targets", name, "--toml") == (0, (targets_directory() / f"{name}.toml").read_text(), "")


def test_a_copy_is_a_profile_of_one_s_own(ackgap, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk.toml").write_text(ackgap("targets", "case-management", "--toml")[1])
    assert ackgap("targets", "./desk.toml")[0] == 0
    status, out, _ = ackgap("targets", "--check", "desk.toml")
    assert status == 0
    assert "can be served" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "desk.toml"),
        ("name = 3", "name"),
        ("name = ", "desk.toml"),
    ],
)
def test_a_mistake_in_a_profile_of_one_s_own_has_status_2_and_names_it(ackgap, tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk.toml").write_text(text)
    status, out, err = ackgap("targets", "--check", "desk.toml")
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("targets", "strip"),
        ("targets", "--toml"),
        ("targets", "stripe", "--check", "desk.toml"),
        ("targets", "--check", "none.toml"),
        ("targets", "--check", "/"),
        ("targets", "strip", "--toml"),
    ],
)
def test_what_makes_no_sense_has_status_2(ackgap, arguments):
    status, _, err = ackgap(*arguments)
    assert status == 2
    assert "next:" in err


def test_a_profile_cannot_steer_the_terminal(ackgap, tmp_path):
    text = (targets_directory() / "approval.toml").read_text()
    file = tmp_path / "own.toml"
    file.write_text(text.replace('title = "', 'title = "\\u001b[2J', 1))
    status, out, _ = ackgap("targets", str(file))
    assert status == 0
    assert "\x1b" not in out
    assert "\\x1b[2J" in out
