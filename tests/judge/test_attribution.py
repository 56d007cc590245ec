"""Who could have prevented a repeat: a table over what the worker sent, and what the target does with it."""

from __future__ import annotations

import pytest
from notation import KEYS, WORLD, judged, only, world

from ackgap.model.verdict import Attribution

OFFERED = world("tickets.create", could_protect=("idempotency_key",))
NATURAL = world("tickets.create", honours_natural_key=True)
SAME = "tickets.create(key=k)", "tickets.create(key=k)"
OTHER = "tickets.create(key=k)", "tickets.create(key=m)"
REWORDED = "tickets.create(key=k,title=A)", "tickets.create(key=m,title=B)"
NONE = "tickets.create", "tickets.create"
SOME = "tickets.create(key=k)", "tickets.create"


def attribution_of(first: str, second: str, facts: dict, down: str = "") -> Attribution:
    history = f"1> {first}:applied KILL{down} | 2> {second} DONE"
    finding = only(judged(history, "tickets.create", facts=facts), "duplicate")
    assert finding.attribution is not None
    return finding.attribution


@pytest.mark.parametrize(
    ("lives", "facts", "down", "sent", "stable", "exceeded", "preventable_by", "fix"),
    [
        (NONE, WORLD, "", False, None, None, ("worker", "target"), "look for the object before creating it"),
        (SAME, WORLD, "", True, True, None, ("target",), "look for the object before creating it"),
        (OTHER, WORLD, "", True, False, None, ("worker", "target"), "look for the object before creating it"),
        (NONE, OFFERED, "", False, None, None, ("worker",), "turn it on here as well"),
        (SAME, OFFERED, "", True, True, None, ("target",), "The key is ignored, as the service is run here"),
        (NONE, NATURAL, "", False, None, None, ("worker",), "exactly as before"),
        (SAME, NATURAL, "", True, True, None, ("worker",), "exactly as before"),
        (NONE, KEYS, "", False, None, None, ("worker",), "Choose an idempotency key"),
        (SOME, KEYS, "", False, None, None, ("worker",), "Choose an idempotency key"),
        (OTHER, KEYS, "", True, False, None, ("worker",), "workflow id and step"),
        (REWORDED, KEYS, "", True, False, None, ("worker",), "workflow id and step"),
        (SAME, KEYS, "", True, True, False, ("target",), "Report this"),
        (SAME, KEYS, "(down=23h)", True, True, False, ("target",), "Report this"),
        (SAME, KEYS, "(down=24h)", True, True, True, ("worker",), "Look the object up"),
        (SAME, KEYS, "(down=72h)", True, True, True, ("worker",), "Look the object up"),
        (OTHER, KEYS, "(down=72h)", True, False, None, ("worker",), "workflow id and step"),
    ],
)
def test_who_could_have_prevented_a_repeat_follows_from_keys_and_protection(
    lives: tuple[str, str],
    facts: dict,
    down: str,
    sent: bool,
    stable: bool | None,
    exceeded: bool | None,
    preventable_by: tuple[str, ...],
    fix: str,
) -> None:
    found = attribution_of(*lives, facts, down)
    assert (found.key_sent, found.key_stable, found.window_exceeded) == (sent, stable, exceeded)
    assert found.preventable_by == preventable_by
    assert fix in found.fix
    assert found.target_honours_keys is (facts is KEYS)


@pytest.mark.parametrize(
    ("lives", "facts", "worker", "target"),
    [
        (NONE, WORLD, "sent no idempotency key", "has no protection against repeats"),
        (SOME, KEYS, "sent an idempotency key on some attempts only", "honours idempotency keys and got none"),
        (OTHER, KEYS, "sent another idempotency key each time", "different keys are different requests"),
        (REWORDED, KEYS, "its payload had changed as well", "different keys are different requests"),
        (NONE, OFFERED, "sent no idempotency key", "it offers idempotency_key"),
        (NONE, NATURAL, "sent no idempotency key", "did not look the same to it"),
    ],
)
def test_each_side_is_told_in_a_sentence(lives: tuple[str, str], facts: dict, worker: str, target: str) -> None:
    found = attribution_of(*lives, facts)
    assert worker in found.worker
    assert target in found.target
    assert "at least once" in found.engine


def test_a_forgotten_key_is_told_with_its_window() -> None:
    assert attribution_of(*SAME, KEYS, "(down=72h)").target == "had forgotten the key: it remembers keys for 24 hours"


def test_a_window_of_one_hour_is_told_in_the_singular() -> None:
    facts = world("tickets.create", protection="idempotency_key", honours_keys=True, key_window_s=3600.0)
    target = attribution_of(*SAME, facts, "(down=72h)").target
    assert target == "had forgotten the key: it remembers keys for 1 hour"


def test_a_target_that_remembers_keys_forever_has_no_window_to_exceed() -> None:
    forever = world("tickets.create", honours_keys=True)
    assert attribution_of(*SAME, forever, "(down=72h)").window_exceeded is False


def test_repeats_within_one_life_are_not_laid_at_the_engines_door() -> None:
    finding = only(judged("1> tickets.create tickets.create DONE", "tickets.create"), "duplicate")
    assert finding.attribution is not None
    assert finding.attribution.engine == "no recovery was involved: the repeats came from one life"


def test_a_lost_effect_is_laid_at_the_door_of_worker_and_engine() -> None:
    finding = only(judged("1> [journal] KILL | 2> DONE", "[journal] tickets.create"), "lost")
    assert finding.attribution is not None
    assert finding.attribution.preventable_by == ("worker", "engine")
    assert finding.attribution.key_sent is None


@pytest.mark.parametrize(
    ("code", "probe", "history"),
    [
        (
            "zombie",
            "tickets.create",
            "1> tickets.create:received PAUSE | 2> [lease] DONE | 1> tickets.create#1 EXIT(0)",
        ),
        ("in_doubt", "tickets.create", "1> tickets.create:applied KILL | 2> EXIT(3) DOUBT"),
        ("stuck_crash_loop", "tickets.create", "1> tickets.create:received KILL | 2> EXIT(1) GAVE_UP(crash_loop)"),
        ("wasted", "search.query [a] tickets.create", "1> search.query [a] KILL | 2> search.query tickets.create DONE"),
    ],
)
def test_other_findings_say_as_well_who_could_do_something(code: str, probe: str, history: str) -> None:
    attribution = only(judged(history, probe), code).attribution
    assert attribution is not None
    assert attribution.preventable_by
    assert attribution.fix


def test_a_key_inside_the_body_does_not_make_it_another_payload() -> None:
    lives = "tickets.create(key=k,token=k)", "tickets.create(key=m,token=m)"
    assert attribution_of(*lives, KEYS).worker == "sent another idempotency key each time"


def test_a_payload_that_changed_beside_its_key_is_said_to_have_changed() -> None:
    assert "its payload had changed as well" in attribution_of(*REWORDED, KEYS).worker


def test_a_step_that_was_recorded_and_ran_again_all_the_same_is_the_engines_doing() -> None:
    history = "1> tickets.create [journal] KILL | 2> tickets.create DONE"
    attribution = only(judged(history, "tickets.create [journal]"), "duplicate").attribution
    assert attribution is not None
    assert "although something durable had been written after its answer" in attribution.engine


def _engine_of(history: str, probe: str, plan: str | None = None) -> str:
    attribution = only(judged(history, probe, plan=plan), "duplicate").attribution
    assert attribution is not None
    return attribution.engine


HEIRS = "kill@tickets.create#1:sending,heirs=2"


def test_a_write_that_landed_after_the_repeat_was_sent_could_not_keep_anyone_from_it() -> None:
    history = """
        1> tickets.create:sending KILL
        2> tickets.create:sending | 3> tickets.create:sending | 2> tickets.create#1 | 3> tickets.create#1
        2> [journal] EXIT(0) | 3> [journal] DONE
    """
    engine = _engine_of(history, "tickets.create [journal]", HEIRS)
    assert "lives 2 and 3 recovered at once and both ran the step" in engine
    assert "although" not in engine


def test_a_write_that_landed_before_the_other_heir_came_to_the_step_could_have() -> None:
    history = """
        1> tickets.create:sending KILL
        2> tickets.create [journal] | 3> [lease] tickets.create DONE | 2> EXIT(0)
    """
    engine = _engine_of(history, "[lease] tickets.create [journal]", HEIRS)
    assert "although something durable had been written after its answer" in engine


@pytest.mark.parametrize("phase", ["sending", "received"])
def test_a_repeat_by_a_worker_that_wakes_up_is_no_recovery(phase: str) -> None:
    history = f"1> tickets.create:{phase} PAUSE | 2> tickets.create [journal] DONE | 1> tickets.create#1 EXIT(0)"
    engine = _engine_of(history, "tickets.create [journal]")
    assert "life 1, which had been paused, took it as well when it woke up, after life 2 had" in engine
    assert "although" not in engine


def test_a_repeat_by_a_worker_that_is_connected_again_is_no_recovery() -> None:
    history = "1> tickets.create:sending DISCONNECT | 2> tickets.create [journal] DONE | 1> tickets.create#1 EXIT(0)"
    engine = _engine_of(history, "tickets.create [journal]")
    assert "life 1, which had been cut off, took it as well when it was connected again, after life 2 had" in engine


def test_a_repeat_of_what_a_paused_worker_had_done_is_a_recovery() -> None:
    history = "1> tickets.create [journal] PAUSE | 2> tickets.create DONE | 1> EXIT(0)"
    assert "recovery ran the step again, although" in _engine_of(history, "tickets.create [journal]")


def test_of_several_lives_one_that_could_have_known_is_enough() -> None:
    history = "1> tickets.create:applied KILL | 2> tickets.create [journal] KILL | 3> tickets.create DONE"
    assert "although" in _engine_of(history, "tickets.create [journal]")
