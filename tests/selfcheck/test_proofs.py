"""Proofs of equivalence are kept, and count only for the very agent, services and change that they are of."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from ackgap import cli
from ackgap.errors import HarnessFailed
from ackgap.scenario.discover import shipped_scenarios
from ackgap.scenario.load import load_scenario
from ackgap.selfcheck.check import SelfCheck
from ackgap.selfcheck.classify import Fate
from ackgap.selfcheck.operators.catalogue import OPERATORS, mutants_of
from ackgap.selfcheck.proofs import Proofs, circumstances, proofs_file
from ackgap.selfcheck.subjects import SUBJECTS

[SUBJECT] = [each for each in SUBJECTS if each.scenario == "known-answers/duplicate-correct"]
FOLDER = shipped_scenarios()[SUBJECT.scenario]
MUTANT, OTHER, *_ = mutants_of(SUBJECT.file, (FOLDER / SUBJECT.file).read_text())


def test_a_proof_counts_for_its_agent_its_services_and_its_change_only():
    proofs = Proofs().with_found(SUBJECT, "these", [(MUTANT, "the same requests", 12)])
    proof = proofs.of(SUBJECT, "these", MUTANT)
    assert proof is not None
    assert (proof.why, proof.cells) == ("the same requests", 12)
    assert proofs.of(SUBJECT, "others", MUTANT) is None
    assert proofs.of(SUBJECT, "these", OTHER) is None
    assert proofs.of(SUBJECT, "these", replace(MUTANT, change=replace(MUTANT.change, text="another"))) is None
    assert proofs.of(SUBJECTS[0], "these", MUTANT) is None


def test_what_was_found_of_a_subject_takes_the_place_of_what_was_known_of_it(tmp_path):
    proofs = Proofs().with_found(SUBJECT, "these", [(MUTANT, "the same", 12)])
    proofs = proofs.with_found(SUBJECTS[0], "those", [(MUTANT, "the same", 3)])
    proofs = proofs.with_found(SUBJECT, "these", [(OTHER, "only reads differ", 12)])
    proofs.write(tmp_path / "equivalent.json")
    read = Proofs.read(tmp_path / "equivalent.json")
    assert read == proofs
    assert read.of(SUBJECT, "these", MUTANT) is None
    assert read.of(SUBJECTS[0], "those", MUTANT) is not None


@pytest.mark.parametrize(
    ("file", "added"), [("worker.py", "\n# one more\n"), ("scenario.toml", "\n# one more\n"), ("README.md", None)]
)
def test_another_agent_is_other_circumstances_and_another_text_on_it_is_not(tmp_path, file, added):
    folder = shutil.copytree(FOLDER, tmp_path / "agent")
    before = circumstances(SUBJECT, load_scenario(folder), folder)
    assert before == circumstances(SUBJECT, load_scenario(FOLDER), FOLDER)
    with (folder / file).open("a") as stream:
        stream.write(added or "more")
    assert (circumstances(SUBJECT, load_scenario(folder), folder) != before) is (added is not None)


def test_other_faults_are_other_circumstances():
    scenario = load_scenario(FOLDER)
    assert circumstances(replace(SUBJECT, faults=("kill",)), scenario, FOLDER) != circumstances(
        SUBJECT, scenario, FOLDER
    )


def test_other_services_are_other_circumstances(tmp_path):
    scenario = load_scenario(FOLDER)
    [target, *others] = scenario.targets
    own = tmp_path / "own.toml"
    own.write_text("name = 'own'\n")
    moved = replace(scenario, targets=(replace(target, profile=str(own)), *others))
    assert circumstances(SUBJECT, moved, FOLDER) != circumstances(SUBJECT, scenario, FOLDER)


def test_shipped_proofs_that_are_damaged_are_named(tmp_path):
    damaged = tmp_path / "equivalent.json"
    damaged.write_text('{"selfcheck/review": {"mutants": {}}}')
    with pytest.raises(HarnessFailed, match="proofs that are shipped cannot be read"):
        Proofs.read(damaged)


def test_the_shipped_proofs_are_of_the_agents_and_mutants_that_there_are():
    """Else they would be proven anew at each run, without anybody's noticing."""
    proofs = Proofs.read(proofs_file())
    stale = []
    for subject in SUBJECTS:
        known = proofs.by_scenario.get(subject.scenario)
        if known is None:
            continue
        folder = shipped_scenarios()[subject.scenario]
        now = circumstances(subject, load_scenario(folder), folder)
        mutants = {each.name: each for each in mutants_of(subject.file, (folder / subject.file).read_text())}
        stale += [
            f"{subject.scenario}: {name}"
            for name in known[1]
            if name not in mutants or proofs.of(subject, now, mutants[name]) is None
        ]
    assert not stale, "python docs/make_selfcheck.py proves them anew"
    assert {each.scenario for each in SUBJECTS} <= set(proofs.by_scenario)


@pytest.mark.slow
def test_what_is_proven_is_not_run_and_counts_all_the_same(tmp_path):
    def check(proofs: Proofs):
        chosen = tuple(each for each in OPERATORS if each.name in ("payload-key", "attempt-key"))
        one = SelfCheck(directory=tmp_path, operators=chosen, jobs=2, proofs=proofs)
        [result] = one.run([replace(SUBJECT, faults=("kill",))])
        return result

    first = check(Proofs())
    fates = {each.mutant.name: each.ruling.fate for each in first.mutants}
    found = [(each.mutant, "as was shown", 7) for each in first.mutants[:1]]
    second = check(Proofs().with_found(first.subject, first.circumstances, found))
    [kept, *others] = second.mutants
    assert kept.ruling.kept
    assert (kept.ruling.fate, kept.ruling.why, kept.ruling.cells) == (Fate.EQUIVALENT, "as was shown", 7)
    assert [each.ruling.fate for each in others] == [fates[each.mutant.name] for each in others]
    assert not any(each.ruling.kept for each in others)


def test_proving_anew_is_an_option(capsys):
    with pytest.raises(SystemExit):
        cli.main(["selfcheck", "--help"])
    assert "--prove" in capsys.readouterr().out
