"""Poison is told apart from slow recovery, and neither is said of a crash loop that may be something else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from notation import codes, expect, h, judged, only

from ackgap.judge import judge
from ackgap.model.event import AttemptAnswered, IncarnationEnded
from ackgap.model.history import History

TICKET = "[intent] tickets.create [journal]"
BATCH = "tickets.create(1) [done] tickets.create(2) [done] tickets.create(3) [done] tickets.create(4) [done]"
LOOP = "GAVE_UP(crash_loop)"


@pytest.mark.parametrize(
    ("code", "probe", "history"),
    [
        # Each life looks, and dies of what it sees.
        (
            "poison",
            TICKET,
            "1> [intent] tickets.create:received KILL | 2> tickets.find EXIT(1) 3> tickets.find EXIT(1)",
        ),
        ("poison", TICKET, "1> [intent] KILL | 2> tickets.create:sending DIES(11) 3> tickets.create:sending DIES(11)"),
        # It is no progress to write down each time that one has tried.
        (
            "poison",
            TICKET,
            "1> [intent] KILL | 2> [attempts] tickets.find EXIT(1) 3> [attempts] tickets.find EXIT(1)",
        ),
        # The first of them came there from further away.
        (
            "poison",
            "search.query [found] tickets.create [journal]",
            (
                "1> search.query KILL | 2> search.query [found] tickets.create:sending EXIT(1) "
                "3> tickets.create:sending EXIT(1) 4> tickets.create:sending EXIT(1)"
            ),
        ),
        # A life that ended before it had touched anything says nothing for or against.
        (
            "poison",
            TICKET,
            "1> [intent] KILL | 2> tickets.find EXIT(1) 3> EXIT(2) 4> tickets.find EXIT(1)",
        ),
        # Nobody came near the work.
        ("stuck_crash_loop", TICKET, "1> [intent] KILL | 2> EXIT(1) 3> EXIT(1)"),
        ("stuck_crash_loop", TICKET, "1> [intent] KILL | 2> tickets.find EXIT(1)"),
        # Another place, or another way to die.
        ("stuck_crash_loop", TICKET, "1> [intent] KILL | 2> tickets.find EXIT(1) 3> [attempts] EXIT(1)"),
        ("stuck_crash_loop", TICKET, "1> [intent] KILL | 2> tickets.find EXIT(1) 3> tickets.find DIES(11)"),
        ("stuck_crash_loop", TICKET, "1> [intent] KILL | 2> tickets.find EXIT(0) 3> tickets.find EXIT(0)"),
        (
            "stuck_crash_loop",
            TICKET,
            (
                "1> [intent] tickets.create:received KILL "
                "2> tickets.create:sending EXIT(1) 3> tickets.create:received EXIT(1)"
            ),
        ),
        # They ask for the same, and write something else before.
        ("stuck_crash_loop", TICKET, "1> [intent] KILL | 2> [a] tickets.find EXIT(1) 3> [b] tickets.find EXIT(1)"),
        # They ask for different things, or ask for nothing and write something: that may be progress.
        (
            "stuck_crash_loop",
            TICKET,
            "1> [intent] KILL | 2> [a] tickets.find(1) EXIT(1) 3> [a] tickets.find(2) EXIT(1)",
        ),
        ("stuck_crash_loop", TICKET, "1> [intent] KILL | 2> [attempts] EXIT(1) 3> [attempts] EXIT(1)"),
        # The undisturbed run writes it once in all, so it is nothing that gets further step by step.
        (
            "poison",
            "[attempts] [intent] tickets.create",
            "1> [attempts] [intent] KILL | 2> [attempts] EXIT(1) 3> [attempts] EXIT(1)",
        ),
        (
            "stuck_crash_loop",
            "[item] [item] tickets.create",
            "1> [item] KILL | 2> [item] EXIT(1) 3> [item] EXIT(1) 4> [item] EXIT(1)",
        ),
        # One item a life.
        (
            "slow_recovery",
            BATCH,
            (
                "1> tickets.create(1) [done] KILL "
                "2> tickets.create(2) [done] EXIT(1) 3> tickets.create(3) [done] EXIT(1)"
            ),
        ),
        # The same without anything written down: each life goes through everything again, and further.
        (
            "slow_recovery",
            "[a] [b] [c] [d] tickets.create",
            "1> [a] KILL | 2> [a] [b] EXIT(1) 3> [a] [b] [c] EXIT(1)",
        ),
        # The third did no more than the second.
        (
            "stuck_crash_loop",
            "[a] [b] [c] [d] tickets.create",
            "1> [a] KILL | 2> [a] [b] EXIT(1) 3> [a] [b] [c] EXIT(1) 4> [a] [b] EXIT(2)",
        ),
    ],
)
def test_a_crash_loop_has_its_known_name(code: str, probe: str, history: str) -> None:
    verdict = judged(f"{history} {LOOP}", probe)
    assert verdict.kind == "stuck"
    assert [each for each in codes(verdict) if each in ("poison", "slow_recovery", "stuck_crash_loop")] == [code]


def test_poison_says_how_many_lives_died_where_and_shows_their_ends() -> None:
    history = f"1> [intent] KILL | 2> tickets.find EXIT(1) 3> tickets.find EXIT(1) {LOOP}"
    finding = only(judged(history, TICKET), "poison")
    assert finding.summary.startswith(
        "The work did not finish: 2 lives died the same way after the answer to tickets.find#1, and none of them "
        "recorded anything more: the work kills whatever touches it"
    )
    ends = [event.seq for event in h(history).history.of(IncarnationEnded)]
    assert set(ends[1:]) <= set(finding.evidence)
    assert finding.detail["lives"] == [2, 3]
    assert "dead letter" in (finding.attribution.fix if finding.attribution else "")


def test_work_that_is_put_aside_after_some_lives_is_not_poison() -> None:
    history = "1> [intent] tickets.create:received KILL | 2> tickets.find EXIT(1) 3> tickets.find EXIT(1) 4> DOUBT"
    assert codes(judged(history, TICKET)) == ["in_doubt"]


def test_a_service_that_is_out_of_order_does_not_make_the_work_poison() -> None:
    run = h(f"1> [intent] KILL | 2> tickets.find EXIT(1) 3> tickets.find EXIT(1) {LOOP}")
    failing = [
        replace(event, status=503) if isinstance(event, AttemptAnswered) else event for event in run.history.events
    ]
    assert codes(judge(History(events=tuple(failing)), expect(TICKET), run.schedule)) == ["stuck_crash_loop"]


def test_lives_before_one_that_ackgap_killed_do_not_count() -> None:
    history = f"1> tickets.find EXIT(1) 2> tickets.find [intent] KILL | 3> tickets.find EXIT(1) {LOOP}"
    assert "poison" not in codes(judged(history, TICKET))


@pytest.mark.parametrize(
    ("code", "history"),
    [
        ("slow_recovery", "1> [a] KILL | 2> NOTE(x) NOTE(x) [a] [b] [c]"),
        (
            "stuck_waiting",
            "1> [a] KILL | 2> [a] [b] [c] NOTE(x) NOTE(x) NOTE(x) NOTE(x) NOTE(x) NOTE(x) NOTE(x) NOTE(x)",
        ),
        ("stuck_waiting", "1> [a] [b] [c] KILL | 2> NOTE(x) NOTE(x) [a] [b] [c]"),
    ],
)
def test_a_life_that_is_cut_off_was_slow_only_if_it_was_still_getting_further(code: str, history: str) -> None:
    run = h(history)
    events = list(run.history.events)
    end = IncarnationEnded(
        seq=len(events) + 1, at_s=len(events) / 100, incarnation=2, exit_code=None, signal=9, by_harness=True
    )
    gave_up = h("1> GAVE_UP(waiting)").history.events[-1]
    events += [end, replace(gave_up, seq=len(events) + 2)]
    verdict = judge(History(events=tuple(events)), expect("[a] [b] [c] [d] tickets.create"), run.schedule)
    assert code in codes(verdict)
    assert len([each for each in codes(verdict) if each.startswith(("stuck", "slow"))]) == 1


def _printing(history: str, *words: str) -> History:
    """Return a history whose lives print these words before they end, one after the other."""
    events = h(f"{history} {LOOP}").history.events
    printed = iter(words)
    return History(
        events=tuple(
            replace(event, output_tail=next(printed)) if isinstance(event, IncarnationEnded) else event
            for event in events
        )
    )


COUNTED = "1> [row] KILL | 2> [row] EXIT(1) 3> [row] EXIT(1) 4> [row] EXIT(1)"
TWO_ROWS = "1> [row] KILL | 2> [row] [row] EXIT(1) 3> [row] [row] EXIT(1) 4> [row] [row] EXIT(1)"


def test_a_file_that_an_undisturbed_run_writes_again_and_again_counts_no_attempts() -> None:
    history = COUNTED.replace("[row]", "[file.cursor.write]")
    probe = "[file.cursor.write] [file.cursor.write] tickets.create"
    run = h(f"{history} {LOOP}")
    verdict = judge(_printing(history, "", *["out of memory"] * 3), expect(probe), run.schedule)
    assert codes(verdict) == ["stuck_crash_loop"]


@pytest.mark.parametrize(
    ("code", "history", "words"),
    [
        ("poison", COUNTED, ("", "bad work", "bad work", "bad work")),
        ("stuck_crash_loop", COUNTED, ("", "died at 1", "died at 2", "died at 3")),
        ("stuck_crash_loop", COUNTED, ("", "at 1\nbad work", "at 2\nbad work", "at 3\nbad work")),
        ("stuck_crash_loop", COUNTED, ("", "", "", "")),
        ("stuck_crash_loop", TWO_ROWS, ("", "bad work", "bad work", "bad work")),
        ("stuck_crash_loop", "1> [row] KILL | 2> [row] EXIT(1) 3> [row] EXIT(1)", ("", "bad work", "bad work")),
    ],
)
def test_one_write_that_every_life_makes_counts_attempts_if_all_of_them_say_the_same(
    code: str, history: str, words: tuple[str, ...]
) -> None:
    run = h(f"{history} {LOOP}")
    verdict = judge(_printing(history, *words), expect("[row] [row] [row] tickets.create"), run.schedule)
    assert codes(verdict) == [code]
