"""The parts of the plugin that run nothing: names, arguments of the marker, what is kept of a census, few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackgap.errors import UsageInvalid
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Attribution, Finding, Verdict, VerdictKind
from ackgap.pytesting.census import Census, CensusShelf
from ackgap.pytesting.items import is_scenario
from ackgap.pytesting.stamp import Inputs, stamp
from ackgap.pytesting.wanted import CellName, Wanted, marked
from ackgap.report.failure import failure_lines

WANTED = Wanted(path=Path("scenarios/agent/scenario.toml"))


def name(row: str, variant: str) -> CellName:
    return CellName(wanted=WANTED, row=row, schedule=f"1/kill@{row}", variant=variant)


def test_a_test_has_the_name_of_its_cell_and_is_found_by_its_values():
    cell = name("tickets.create#1:applied", "key=none,store=sqlite")
    assert cell.test == cell.cell == "tickets.create#1:applied@key=none,store=sqlite"
    assert cell.keywords == {"key:none", "store:sqlite"}
    assert name("a.b#1:applied", "default").keywords == frozenset()


def test_two_colons_in_a_cell_do_not_end_a_part_of_its_node_id():
    assert "::" not in name("files.a::b#1:applied", "default").test


def test_a_marker_says_which_part_and_what_passes():
    wanted, allow = marked(
        WANTED.path, {"points": ["a.*"], "settings": {"b": {"c": 1}}, "allow": ["wasted"]}, warm=True
    )
    assert (wanted.points, wanted.settings, wanted.warm, allow) == (("a.*",), '{"b": {"c": 1}}', True, ("wasted",))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"point": ["a"]}, "write points=..."),
        ({"onyl": ["a"]}, "did you mean 'only'"),
        ({"depth": 2}, "crash_matrix(..., depth=...)"),
        ({"worker": "python agent.py"}, "use the fixture"),
        ({"points": "a"}, "a list of texts"),
        ({"allow": ["wastd"]}, "did you mean 'wasted'"),
    ],
)
def test_each_mistake_in_a_marker_has_a_remedy(arguments, said):
    with pytest.raises(UsageInvalid) as caught:
        marked(WANTED.path, arguments, warm=False)
    assert said in str(caught.value)


def test_parts_with_the_same_surroundings_share_their_cells():
    other, _ = marked(WANTED.path, {"points": ["a"]}, warm=False)
    warm, _ = marked(WANTED.path, {}, warm=True)
    assert other.surroundings == WANTED.surroundings != warm.surroundings
    assert len({WANTED.key, other.key, warm.key}) == 3


def test_a_census_is_kept_until_something_that_it_depends_on_changes(tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    worker = folder / "worker.py"
    worker.write_text("1")
    census = Census(
        scenario="agent",
        cells=(("a.b#1:applied", "1/kill@a.b#1:applied", "default"),),
        inputs=Inputs(directories=(str(folder),), programs=("python3",)),
        modules={"": ("json",)},
    )
    shelf = CensusShelf(tmp_path / "cache")
    assert shelf.take(WANTED) is None
    shelf.keep(WANTED, census)
    assert shelf.take(WANTED) == census
    assert shelf.take(Wanted(path=WANTED.path, warm=True)) is None
    worker.write_text("2")
    assert shelf.take(WANTED) is None
    assert shelf.old(WANTED) == census
    worker.write_text("1")
    assert shelf.take(WANTED) == census
    shelf.forget(WANTED)
    assert shelf.take(WANTED) is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"form": 1}', '{"form": 0, "cells": []}'])
def test_a_damaged_census_is_learned_anew(tmp_path, text):
    shelf = CensusShelf(tmp_path)
    shelf.keep(WANTED, Census(scenario="agent", cells=()))
    (file,) = tmp_path.glob("*.json")
    file.write_text(text)
    assert shelf.take(WANTED) is None


def test_without_a_cache_nothing_is_kept():
    shelf = CensusShelf(None)
    shelf.keep(WANTED, Census(scenario="agent", cells=()))
    assert shelf.take(WANTED) is None
    with shelf.alone("x"):
        pass


def test_what_is_installed_counts(tmp_path):
    packages = tmp_path / "site-packages"
    packages.mkdir()
    before = stamp(Inputs(packages=(str(packages),)))
    (packages / "httpx-1.0.dist-info").mkdir()
    assert stamp(Inputs(packages=(str(packages),))) != before


def test_results_of_a_test_run_go_to_its_other_processes_and_no_further(tmp_path):
    one, two, other = (CensusShelf(tmp_path, run=run) for run in ("r1", "r1", "r2"))
    one.keep_result("undisturbed@default", "s", {"verdict": "ok"})
    assert two.take_result("undisturbed@default", "s") == {"verdict": "ok"}
    assert other.take_result("undisturbed@default", "s") is None
    other.clear("r1")
    assert two.take_result("undisturbed@default", "s") is None


@pytest.mark.parametrize(
    ("text", "ours"), [("[worker]\n[targets.a]\n", True), ("[scenario]\nname = 'of another tool'\n", False)]
)
def test_a_file_of_that_name_of_another_tool_is_left_alone(tmp_path, text, ours):
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    assert is_scenario(file) is ours


def result(kind: VerdictKind, schedule: str, **more) -> CellResult:
    attribution = Attribution(worker="sent no key", target="has none", preventable_by=("worker",), fix="send one")
    finding = Finding(kind=kind, code=kind.value, summary="Two\ntickets", evidence=(1, 2), attribution=attribution)
    return CellResult(
        scenario="s",
        variant=Variant(),
        schedule=Schedule.parse(schedule),
        verdict=Verdict.of((finding,)),
        incarnations=2,
        **more,
    )


def test_a_failure_is_told_in_few_lines_of_plain_text():
    effects = [
        {"seq": seq, "kind": "effect_applied", "object_id": f"T-{seq}\x1b[2J", "incarnation": seq} for seq in (1, 2)
    ]
    lines = list(
        failure_lines(result(VerdictKind.DUPLICATE, "a.b#1:applied", history=tuple(effects)), "ackgap replay d")
    )
    assert lines == [
        "duplicate: Two tickets",
        "  killed at  a.b#1:applied@default",
        "  happened   T-1\\x1b[2J in life 1, T-2\\x1b[2J in life 2",
        "  worker   * sent no key",
        "  target     has none",
        "           * could have prevented it",
        "  fix        send one",
        "  again      ackgap replay d 'a.b#1:applied@default'",
    ]


def test_a_fault_that_is_no_kill_is_not_called_one():
    lines = list(failure_lines(result(VerdictKind.LOST, "lose@a.b#1:applied"), "r", more=2, same_as="x@y"))
    assert lines[1] == "  fault      lose@a.b#1:applied@default, and at 2 more"
    assert lines[2] == "  why        as at x@y"
