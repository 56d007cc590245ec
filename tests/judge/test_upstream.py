"""What the judge says about runs in which a target stood in front of a real service."""

from __future__ import annotations

from dataclasses import replace

import pytest
from notation import WORLD, codes, judged

from ackgap.model.verdict import VerdictKind

REAL = {name: replace(facts, real=True) for name, facts in WORLD.items()}
DONE_ONCE = "tickets.create(4471) DONE"


@pytest.mark.parametrize("code", ["upstream_failed", "upstream_unclear", "known_before", "not_recorded"])
def test_a_run_in_which_the_service_left_something_open_proves_nothing(code):
    verdict = judged(f"1> NOTE({code}) {DONE_ONCE}", DONE_ONCE, facts=REAL)
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert code in codes(verdict)


def test_assumed_effects_are_a_remark_for_each_operation():
    verdict = judged(f"1> NOTE(effect_assumed) NOTE(effect_assumed) {DONE_ONCE}", DONE_ONCE, facts=REAL)
    assert verdict.kind is VerdictKind.OK
    assert codes(verdict).count("effect_assumed") == 1


def test_time_does_not_go_by_for_a_real_service():
    run = "1> tickets.create(4471):received KILL(down=72h) | 2> READY(moved) tickets.create(4471) DONE"
    assert "service_unmoved" in codes(judged(run, DONE_ONCE, facts=REAL))
    assert judged(run, DONE_ONCE, facts=REAL).kind is VerdictKind.INCONCLUSIVE
    assert judged(run, DONE_ONCE).kind is VerdictKind.OK


def test_time_means_nothing_to_a_real_model():
    run = "1> model.chat tickets.create(4471):received KILL(down=72h) | 2> READY(moved) tickets.create(4471) DONE"
    world = {**WORLD, "model.chat": replace(WORLD["model.chat"], real=True)}
    assert "service_unmoved" not in codes(judged(run, f"model.chat {DONE_ONCE}", facts=world))


def test_a_real_service_is_not_said_to_have_been_run_without_protection():
    facts = {**REAL, "tickets.create": replace(REAL["tickets.create"], could_protect=("idempotency-key",))}
    run = "1> tickets.create(4471):applied KILL | 2> tickets.create(4471) DONE"
    (finding,) = [each for each in judged(run, DONE_ONCE, facts=facts).findings if each.code == "duplicate"]
    assert finding.attribution.target == "is a real service; its profile knows of idempotency-key"
    assert finding.attribution.fix.startswith("The service can protect you (idempotency-key)")
    (bare,) = [each for each in judged(run, DONE_ONCE, facts=REAL).findings if each.code == "duplicate"]
    assert bare.attribution.target.startswith("is a real service")
