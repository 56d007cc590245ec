from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ackgap.model.verdict import Attribution, VerdictKind
from ackgap.report.guidance import NOBODY, SIDES, guidance, remedies

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("kind", [*VerdictKind])
def test_each_verdict_is_explained_and_has_a_remedy_for_each_side(kind):
    words = guidance()[kind]
    assert len(words.means) > 30
    assert set(words.fix) == {"worker", "engine", "target", NOBODY}
    assert all(text.endswith(".") and len(text) > 20 for text in words.fix.values())


def test_no_two_verdicts_have_the_same_words():
    texts = [text for words in guidance().values() for text in (words.means, *words.fix.values())]
    assert len(set(texts)) == len(texts) == len(VerdictKind) * (1 + len(SIDES))


def test_what_helps_follows_from_who_could_have_prevented_it():
    blamed = Attribution(preventable_by=("target", "worker"))
    assert [side for side, _ in remedies(VerdictKind.DUPLICATE, blamed)] == ["worker", "target"]
    fix = guidance()[VerdictKind.LOST].fix
    assert remedies(VerdictKind.LOST, None) == ((NOBODY, fix[NOBODY]),)
    assert remedies(VerdictKind.LOST, Attribution(preventable_by=("engine",))) == (("engine", fix["engine"]),)


def test_the_document_of_verdicts_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_guidance", DOCS / "make_guidance.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (DOCS / "verdicts.md").read_text(encoding="utf-8")
    assert script.made(text) == text
    assert all(words.means in text for words in guidance().values())
