"""The line of each key of a scenario, and the path of a file as a repository knows it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackgap.report.origin import Origin
from ackgap.scenario.flags import scenario_from_flags
from ackgap.scenario.load import load_scenario
from ackgap.scenario.places import lines_of_keys, path_in_project, scenario_lines

SCENARIO = '''name = "agent"
about = """
[targets.fake]
profile = "not a table"
"""

[worker]
command = "python agent.py"

[targets.tickets]
profile = "case-management"
[axes.key.values.none]
[axes.key.values]
fixed = { env = { KEY = "1" } }
[axes."v1.2".values.yes]
'''


def test_each_key_has_its_line_and_text_that_looks_like_a_table_is_text() -> None:
    lines = lines_of_keys(SCENARIO)
    assert lines["targets",] == lines["targets", "tickets"] == 10
    assert ("targets", "fake") not in lines
    assert lines["axes", "key", "values", "none"] == 12
    assert lines["axes", "key", "values", "fixed"] == 14
    assert lines["axes", "v1.2", "values", "yes"] == 15


def test_a_file_that_is_no_toml_or_is_not_there_has_no_lines_to_point_at(tmp_path: Path) -> None:
    assert lines_of_keys("[targets.tickets]\nx = [\n" + "1,\n" * 5000) == {("targets",): 1, ("targets", "tickets"): 1}
    assert scenario_lines(tmp_path / "nothing.toml") == {}
    assert scenario_lines(tmp_path) == {}


KEYS = st.text("abcdefg-", min_size=1, max_size=4)


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, st.integers() | st.text(max_size=20), max_size=4), max_size=5))
def test_each_key_stands_on_the_line_that_is_named(document: dict[str, dict[str, int | str]]) -> None:
    lines = []
    for table, values in document.items():
        lines += ["", f"[{table}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
    text = "\n".join(lines)
    assert tomllib.loads(text) == document
    found = lines_of_keys(text)
    assert found.keys() == {(table,) for table in document} | {(t, key) for t, keys in document.items() for key in keys}
    written = text.split("\n")
    for path, number in found.items():
        assert written[number - 1].startswith(f"{path[-1]} =" if len(path) > 1 else f"[{path[0]}]")


def _toml(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    return (
        '"' + "".join(f"\\U{ord(letter):08x}" if not 0xD800 <= ord(letter) < 0xE000 else "" for letter in value) + '"'
    )


def test_a_path_is_seen_from_the_root_of_its_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "clone" / "scenarios" / "agent" / "scenario.toml"
    file.parent.mkdir(parents=True)
    file.write_text(SCENARIO)
    assert path_in_project(file) == "agent/scenario.toml", "neither in a repository nor below the current directory"
    monkeypatch.chdir(tmp_path / "clone")
    assert path_in_project(file) == "scenarios/agent/scenario.toml"
    monkeypatch.chdir(file.parent)
    (tmp_path / "clone" / ".git").write_text("gitdir: elsewhere")  # as in a second work tree
    assert path_in_project(Path("scenario.toml")) == "scenarios/agent/scenario.toml"


def test_a_scenario_points_at_its_file_and_a_worker_of_the_command_line_at_its_program(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "agent.py").write_text("")
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    origin = Origin.of(load_scenario(tmp_path / "scenario.toml"))
    assert origin.file == "scenario.toml"
    assert origin.lines == {
        "target tickets": 10,
        "axis key": 12,
        "value key=none": 12,
        "value key=fixed": 14,
        "axis v1.2": 15,
        "value v1.2=yes": 15,
    }
    flags = scenario_from_flags(
        worker="python agent.py", targets=["tickets=any"], env=["URL={tickets.url}"], directory=tmp_path
    )
    assert Origin.of(flags) == Origin(file="agent.py")
