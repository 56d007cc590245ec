"""`[[known_gap]]` of a scenario file: what it becomes, and what each mistake says."""

from __future__ import annotations

import pytest

from ackgap.errors import ScenarioInvalid
from ackgap.model.gap import KnownGap
from ackgap.model.verdict import VerdictKind
from ackgap.scenario.load import load_scenario

SCENARIO = """
name = "tiny"
[worker]
command = "python3 agent.py"
[targets.tickets]
profile = "any"
[axes.key.values.none]
[axes.key.values.fixed]
[[known_gap]]
"""
WHOLE = 'verdict = "duplicate"\nreason = "no key yet"\nowner = "ada"\n'


def load(tmp_path, gap: str):
    (tmp_path / "agent.py").write_text("")
    (tmp_path / "scenario.toml").write_text(SCENARIO + gap)
    return load_scenario(tmp_path)


def test_a_gap_is_read_with_its_rows_and_values(tmp_path):
    (gap,) = load(tmp_path, WHOLE + 'point = "tickets.*"\nonly = { key = "none" }').known_gaps
    assert gap == KnownGap(
        verdict=VerdictKind.DUPLICATE,
        reason="no key yet",
        owner="ada",
        points=("tickets.*",),
        only={"key": ("none",)},
    )


@pytest.mark.parametrize(
    ("gap", "where", "said"),
    [
        (WHOLE, "known_gap[0]", "does not say which cells"),
        (WHOLE + 'cell = "a@*"\npoint = "a"', "known_gap[0].cell", "names its cells twice"),
        (WHOLE + 'cell = "tickets.*"', "known_gap[0].cell", "is no cell"),
        (WHOLE + 'only = { kee = "none" }', "known_gap[0].only.kee", "did you mean 'key'"),
        (WHOLE + 'only = { key = "nones" }', "known_gap[0].only.key", "did you mean 'none'"),
        (WHOLE + 'points = "a"', "known_gap[0].points", "did you mean 'point'"),
        (WHOLE + "point = []", "known_gap[0].point", "glob over the rows"),
        (WHOLE.replace("duplicate", "ok") + 'point = "a"', "known_gap[0].verdict", "should be 'duplicate'"),
        ('point = "a"\nverdict = "lost"\nowner = "ada"', "known_gap[0].reason", "key 'reason' is missing"),
        (WHOLE.replace("ada", " ") + 'point = "a"', "known_gap[0].owner", "has no owner"),
    ],
)
def test_each_mistake_names_file_and_key(tmp_path, gap, where, said):
    with pytest.raises(ScenarioInvalid) as caught:
        load(tmp_path, gap)
    assert caught.value.where == f"{tmp_path / 'scenario.toml'}, key {where}"
    assert said in caught.value.what
