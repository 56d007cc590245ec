"""A broken and a correct history for each verdict, and what must not be concluded from histories that look alike."""

from __future__ import annotations

from dataclasses import replace

import pytest
from notation import KEYS, WORLD, codes, expect, h, judged, only, world

from ackgap.judge import judge
from ackgap.model.expectation import ApprovalRule, OrderRule
from ackgap.model.history import History
from ackgap.model.verdict import VerdictKind

TICKET = "tickets.create [journal]"
RESEARCH = "search.query [found] tickets.create [filed]"


@pytest.mark.parametrize(
    ("verdict", "probe", "history"),
    [
        # duplicate
        ("ok", TICKET, "1> tickets.create [journal] DONE"),
        ("ok", TICKET, "1> tickets.create:received KILL | 2> tickets.create [journal] DONE"),
        ("ok", TICKET, "1> tickets.create:sending KILL | 2> tickets.create [journal] DONE"),
        ("duplicate", TICKET, "1> tickets.create:applied KILL | 2> tickets.create [journal] DONE"),
        ("duplicate", TICKET, "1> tickets.create KILL | 2> tickets.create [journal] DONE"),
        ("duplicate", TICKET, "1> tickets.create [journal]:committing KILL | 2> tickets.create [journal] DONE"),
        ("ok", TICKET, "1> tickets.create [journal] KILL | 2> DONE"),
        ("ok", TICKET, "1> tickets.create(key=k):applied KILL | 2> tickets.create(key=k)=>replayed [journal] DONE"),
        ("ok", TICKET, "1> tickets.create:applied KILL | 2> tickets.create=>existing [journal] DONE"),
        ("ok", TICKET, "1> tickets.create:applied KILL | 2> tickets.find [journal] DONE"),
        ("ok", "tickets.create(1) tickets.create(2)", "1> tickets.create(1) tickets.create(2) DONE"),
        ("duplicate", TICKET, "1> tickets.create:applied KILL | 2> tickets.create EXIT(1) GAVE_UP(crash_loop)"),
        # lost
        ("ok", "[journal] tickets.create", "1> [journal]:committing KILL | 2> [journal] tickets.create DONE"),
        ("lost", "[journal] tickets.create", "1> [journal] KILL | 2> DONE"),
        ("lost", "[journal] tickets.create", "1> [journal] tickets.create:received KILL | 2> DONE"),
        ("lost", "tickets.create notify.send", "1> tickets.create KILL | 2> DONE"),
        ("lost", TICKET, "1> tickets.create=>rejected [journal] DONE"),
        ("lost", "tickets.create(1) tickets.create(2)", "1> tickets.create(1) KILL | 2> DONE"),
        # phantom
        ("phantom", TICKET, "1> tickets.create [journal] KILL | 2> notify.send DONE"),
        ("phantom", TICKET, "1> tickets.create(4471) KILL | 2> tickets.create(9) DONE"),
        ("ok", "tickets.create notify.send", "1> tickets.create KILL | 2> notify.send DONE"),
        # zombie
        ("zombie", TICKET, "1> tickets.create:sending PAUSE | 2> [lease] DONE | 1> tickets.create#1 EXIT(0)"),
        ("zombie", TICKET, "1> tickets.create:received PAUSE | 2> [lease] DONE | 1> tickets.create#1 EXIT(0)"),
        (
            "duplicate",
            TICKET,
            "1> tickets.create:received PAUSE | 2> tickets.create DONE | 1> tickets.create#1 EXIT(0)",
        ),
        (
            "ok",
            TICKET,
            "1> tickets.create:received PAUSE | 2> tickets.create DONE | 1> tickets.create#1=>replayed EXIT(0)",
        ),
        ("ok", TICKET, "1> tickets.create [journal] PAUSE | 2> DONE | 1> EXIT(0)"),
        # stuck
        ("stuck", TICKET, "1> tickets.create:received KILL | 2> EXIT(1) 3> EXIT(1) GAVE_UP(crash_loop)"),
        ("stuck", TICKET, "1> tickets.create:applied KILL | 2> DIES(9) GAVE_UP(waiting)"),
        ("ok", TICKET, "1> tickets.create:received KILL | 2> EXIT(1) 3> tickets.create [journal] DONE"),
        # in doubt
        ("in_doubt", TICKET, "1> tickets.create:applied KILL | 2> EXIT(3) DOUBT"),
        ("in_doubt", TICKET, "1> tickets.create:received KILL | 2> EXIT(3) DOUBT"),
        ("in_doubt", TICKET, "1> tickets.create:sending KILL | 2> EXIT(3) DOUBT"),
        ("in_doubt", TICKET, "1> tickets.create KILL | 2> EXIT(3) DOUBT"),
        ("in_doubt", TICKET, "1> tickets.create [journal]:committing KILL | 2> EXIT(3) DOUBT"),
        ("in_doubt", "[intent] tickets.create", "1> [intent] tickets.create KILL | 2> EXIT(3) DOUBT"),
        ("in_doubt", "[intent] tickets.create", "1> [intent] KILL | 2> EXIT(3) DOUBT"),
        # wasted
        ("ok", RESEARCH, "1> search.query:received KILL | 2> search.query [found] tickets.create [filed] DONE"),
        ("ok", RESEARCH, "1> search.query:applied KILL | 2> search.query [found] tickets.create [filed] DONE"),
        ("ok", RESEARCH, "1> search.query KILL | 2> search.query [found] tickets.create [filed] DONE"),
        ("ok", RESEARCH, "1> search.query [found] KILL | 2> tickets.create [filed] DONE"),
        ("wasted", RESEARCH, "1> search.query [found] KILL | 2> search.query [found] tickets.create [filed] DONE"),
        # inconclusive
        ("inconclusive", TICKET, "1> DONE"),
        ("inconclusive", TICKET, "1> tickets.create:received KILL(exit=0) | 2> tickets.create [journal] DONE"),
        ("inconclusive", TICKET, "1> tickets.create:received KILL(signal=15) | 2> tickets.create [journal] DONE"),
        ("inconclusive", TICKET, "1> tickets.create:received KILL(vanished) | 2> tickets.create [journal] DONE"),
        ("inconclusive", TICKET, "1> tickets.create:received KILL(unsettled) | 2> tickets.create [journal] DONE"),
        ("inconclusive", TICKET, "1> tickets.create:received KILL(store) | 2> tickets.create [journal] DONE"),
        ("inconclusive", TICKET, "1> tickets.create:received GONE KILL | 2> tickets.create [journal] DONE"),
        ("inconclusive", TICKET, "1> tickets.create:received KILL | 2> OUTSIDE(/etc/x) tickets.create [journal] DONE"),
        ("inconclusive", TICKET, "1> tickets.create:received KILL | 2> NOTE(target_failed) tickets.create DONE"),
        ("inconclusive", TICKET, "1> tickets.create:received KILL | 2> tickets.create [journal]"),
        ("ok", TICKET, "1> tickets.create:received KILL(quiet) | 2> tickets.create [journal] DONE"),
    ],
)
def test_a_history_has_its_known_verdict(verdict: str, probe: str, history: str) -> None:
    assert judged(history, probe).kind == verdict


# ------------------------------------------------------------------ duplicate


def test_a_declared_count_of_two_makes_two_effects_right_and_three_too_many() -> None:
    counts = {"tickets.create": 2}
    assert judged("1> tickets.create tickets.create DONE", TICKET, declared_counts=counts).kind == "ok"
    three = judged("1> tickets.create tickets.create tickets.create DONE", TICKET, declared_counts=counts)
    assert only(three, "duplicate").summary == "Three tickets for partner_id 4471, 2 expected"
    assert judged("1> tickets.create DONE", TICKET, declared_counts=counts).kind == "lost"


def test_an_undisturbed_run_at_a_described_target_can_itself_be_at_fault() -> None:
    twice = "tickets.create tickets.create"
    assert judged(f"1> {twice} DONE", twice).kind == "duplicate"


def test_a_duplicate_says_how_many_of_what_for_whom_and_shows_each() -> None:
    verdict = judged("1> tickets.create:applied KILL | 2> tickets.create [journal] DONE", TICKET)
    finding = only(verdict, "duplicate")
    assert verdict.headline == finding.summary == "Two tickets for partner_id 4471"
    assert finding.detail["objects"] == ["T-1", "T-2"]
    assert len(finding.evidence) == 2
    assert finding.operation == "tickets.create"


def test_a_visible_duplicate_does_not_make_up_for_a_kill_that_proves_nothing() -> None:
    for option in ("unsettled", "exit=0", "signal=15", "store", "vanished"):
        verdict = judged(f"1> tickets.create:applied KILL({option}) | 2> tickets.create [journal] DONE", TICKET)
        assert verdict.kind == "inconclusive"
        assert "duplicate" in codes(verdict)


def test_two_attempts_with_one_effect_are_no_duplicate() -> None:
    verdict = judged("1> tickets.create=>conflict tickets.create DONE", TICKET)
    assert verdict.kind == "ok"
    assert codes(verdict) == []


# ----------------------------------------------------------- learned identity


LEADS = ("crm.add(4471,title=A)", "crm.add(4471,title=B)")


def test_a_field_that_moved_between_the_probes_is_content_and_its_change_no_new_action() -> None:
    verdict = judged("1> crm.add(4471,title=C):received KILL | 2> crm.add(4471,title=D) DONE", *LEADS)
    assert (verdict.kind, codes(verdict)) == (VerdictKind.OK, [])


def test_a_repeat_with_moved_content_is_a_duplicate_and_not_phantom() -> None:
    verdict = judged("1> crm.add(4471,title=C):applied KILL | 2> crm.add(4471,title=D) DONE", *LEADS)
    assert codes(verdict) == ["duplicate"]
    assert only(verdict, "duplicate").detail["assumed"] is True


STEADY = "crm.add(4471,title=A)"


def test_a_field_that_moves_only_after_a_restart_still_makes_the_same_action() -> None:
    verdict = judged("1> crm.add(4471,title=A):received KILL | 2> crm.add(4471,title=Z) DONE", STEADY)
    assert (verdict.kind, codes(verdict)) == (VerdictKind.OK, ["identity_moved"])


def test_a_repeat_that_differs_in_a_learned_field_is_a_duplicate_whose_content_differs() -> None:
    verdict = judged("1> crm.add(4471,title=A):applied KILL | 2> crm.add(4471,title=Z) DONE", STEADY)
    assert codes(verdict) == ["duplicate"]
    assert verdict.headline == "Two leads (content differs)"


def test_three_wordings_of_one_action_are_one_finding_of_three_effects() -> None:
    verdict = judged(
        "1> crm.add(1,title=A):applied KILL | 2> crm.add(1,title=B):applied KILL | 3> crm.add(1,title=C) DONE",
        "crm.add(1,title=A)",
    )
    assert only(verdict, "duplicate").summary == "Three leads (content differs)"


def test_two_wordings_that_no_probe_had_are_two_effects_of_one_action() -> None:
    verdict = judged("1> crm.add(1,title=B):applied KILL | 2> crm.add(1,title=C) DONE", "crm.add(1,title=A)")
    finding = only(verdict, "duplicate")
    assert (finding.detail["seen"], finding.detail["expected"]) == (2, 1)


def test_an_operation_that_no_probe_used_is_a_phantom_also_where_nobody_described_the_target() -> None:
    assert judged("1> tickets.create KILL | 2> crm.add DONE", "tickets.create").kind == "phantom"


def test_another_identity_at_a_described_target_is_a_phantom_and_the_missing_one_lost() -> None:
    verdict = judged("1> tickets.create(4471):received KILL | 2> tickets.create(4472) DONE", TICKET)
    assert codes(verdict) == ["lost", "phantom"]
    assert verdict.kind == "lost"


def test_what_a_repeated_count_is_at_an_undescribed_target_is_taken_from_the_probe() -> None:
    twice = "crm.add(1) crm.add(1)"
    assert judged(f"1> {twice} DONE", twice).kind == "ok"
    assert judged("1> crm.add(1):applied KILL | 2> crm.add(1) crm.add(1) DONE", twice).kind == "duplicate"


# ----------------------------------------------------------------------- lost


def test_a_missing_effect_is_not_lost_while_the_work_does_not_count_as_finished() -> None:
    verdict = judged("1> tickets.create:received KILL | 2> EXIT(1) GAVE_UP(crash_loop)", TICKET)
    assert codes(verdict) == ["stuck_crash_loop"]
    verdict = judged("1> tickets.create:received KILL | 2> EXIT(3) DOUBT", TICKET)
    assert codes(verdict) == ["in_doubt"]


def test_a_worker_that_does_nothing_after_its_kill_has_lost_its_work() -> None:
    verdict = judged("1> [journal] KILL | 2> DONE", "[journal] tickets.create")
    assert codes(verdict) == ["lost"]
    assert verdict.headline == "The ticket for partner_id 4471 never happened, and the work counts as finished"


def test_doing_nothing_after_a_kill_proves_nothing_where_nothing_was_expected() -> None:
    verdict = judged("1> [journal] KILL | 2> DONE", "[journal] search.query")
    assert codes(verdict) == ["no_attempts"]
    assert verdict.kind == "inconclusive"


# --------------------------------------------------------------------- zombie


def test_a_zombie_is_reported_beside_the_duplicate_that_it_causes() -> None:
    verdict = judged(
        "1> tickets.create:received PAUSE | 2> tickets.create [journal] DONE | 1> tickets.create#1 EXIT(0)", TICKET
    )
    assert codes(verdict) == ["duplicate", "zombie"]
    assert verdict.kind == "duplicate"
    assert only(verdict, "zombie").summary == "Life 1 made the ticket T-2 after life 2 had taken over"


@pytest.mark.parametrize(
    "heir",
    [
        "2> EXIT(1)",  # it found the lock held, and said so
        "2> DONE",  # it found the lock held, and left
        "2> tickets.find DONE",  # it looked, found nothing, and left it to the owner
        "2> [attempts] EXIT(1)",  # it wrote down that it had tried
    ],
)
def test_a_life_that_started_beside_a_stopped_one_and_did_nothing_has_not_taken_over(heir: str) -> None:
    verdict = judged(f"1> tickets.create:sending PAUSE | {heir} | 1> tickets.create#1 [journal] DONE", TICKET)
    assert codes(verdict) in ([], ["unclean_exit"])


@pytest.mark.parametrize("heir", ["2> [lease] DONE", "2> tickets.create=>rejected EXIT(1)", "2> [lease]"])
def test_a_life_that_holds_the_lease_or_has_tried_to_act_has_taken_over(heir: str) -> None:
    verdict = judged(f"1> tickets.create:sending PAUSE | {heir} | 1> tickets.create#1 [journal] DONE", TICKET)
    assert only(verdict, "zombie").summary == "Life 1 made the ticket T-1 after life 2 had taken over"


def test_without_hooks_it_is_the_store_that_shows_who_has_taken_over() -> None:
    for heir, zombie in (("2> [lease] DONE", True), ("2> DONE", False)):
        history = f"1> tickets.create:received PAUSE | {heir} | 1> tickets.create#1 EXIT(0)"
        assert ("zombie" in codes(judged(history, TICKET, hooks=False))) is zombie


def test_an_effect_before_the_next_life_began_is_no_zombie() -> None:
    verdict = judged("1> tickets.create:applied PAUSE | 2> [lease] DONE | 1> tickets.create#1 EXIT(0)", TICKET)
    assert codes(verdict) == []


# ------------------------------------------------------------ stuck and doubt


def test_doubt_without_an_unresolved_call_is_stuck() -> None:
    for history in (
        "1> tickets.create [journal] KILL | 2> EXIT(3) DOUBT",
        "1> search.query:applied KILL | 2> EXIT(3) DOUBT",
        "1> tickets.create [journal] EXIT(3) DOUBT",
    ):
        verdict = judged(history, "search.query tickets.create [journal]")
        assert verdict.kind == "stuck"
        assert codes(verdict) == ["doubt_without_cause"]


def test_doubt_beside_a_duplicate_is_a_duplicate() -> None:
    verdict = judged("1> tickets.create:applied KILL | 2> tickets.create EXIT(3) DOUBT", TICKET)
    assert verdict.kind == "duplicate"
    assert codes(verdict) == ["duplicate", "in_doubt"]


def test_doubt_names_the_call_that_was_under_way() -> None:
    verdict = judged(
        "1> notify.send [sent] tickets.create:applied KILL | 2> EXIT(3) DOUBT", "notify.send tickets.create"
    )
    finding = only(verdict, "in_doubt")
    assert finding.operation == "tickets.create"
    assert "tickets.create" in finding.summary


def test_a_file_that_is_about_to_replace_another_records_nothing_yet() -> None:
    probe = "tickets.create [file.state.new.write] [file.state.replace]"
    written = judged("1> tickets.create [file.state.new.write] KILL | 2> EXIT(3) DOUBT", probe)
    replaced = judged("1> tickets.create [file.state.new.write] [file.state.replace] KILL | 2> EXIT(3) DOUBT", probe)
    assert (written.kind, replaced.kind) == ("in_doubt", "stuck")


def test_without_hooks_a_change_of_the_store_after_the_answer_counts_as_written_down() -> None:
    probe = "tickets.create [journal] notify.send"
    recorded = "1> tickets.create [journal] notify.send:received KILL | 2> EXIT(3) DOUBT"
    finding = only(judged(recorded, probe, hooks=False), "in_doubt")
    assert finding.operation == "notify.send"
    unrecorded = "1> tickets.create notify.send:received KILL | 2> EXIT(3) DOUBT"
    assert only(judged(unrecorded, probe, hooks=False), "in_doubt").operation == "tickets.create"


def test_a_crash_loop_is_stuck_also_with_everything_there() -> None:
    verdict = judged("1> tickets.create [journal] KILL | 2> EXIT(1) 3> EXIT(1) GAVE_UP(crash_loop)", TICKET)
    assert verdict.kind == "stuck"
    assert "every expected action is there" in only(verdict, "stuck_crash_loop").summary


def test_a_life_that_fails_before_one_that_ends_well_is_a_remark() -> None:
    verdict = judged("1> tickets.create [journal] KILL | 2> EXIT(1) 3> DONE", TICKET)
    assert verdict.kind == "ok"
    assert only(verdict, "unclean_exit").kind is None


def test_waiting_forever_with_everything_there_is_stuck_all_the_same() -> None:
    assert judged("1> tickets.create [journal] KILL | 2> DIES(9) GAVE_UP(waiting)", TICKET).kind == "stuck"


# --------------------------------------------------------------------- wasted


def test_only_the_repeats_beyond_the_call_in_flight_are_wasted() -> None:
    probe = "search.query [one] search.query [two] tickets.create [filed]"
    verdict = judged(
        "1> search.query [one] search.query:applied KILL | 2> search.query [one] search.query [two] "
        "tickets.create DONE",
        probe,
    )
    finding = only(verdict, "wasted")
    assert {name: finding.detail[name] for name in ("probe", "seen", "extra", "allowed", "wasted")} == {
        "probe": 2,
        "seen": 4,
        "extra": 2,
        "allowed": 1,
        "wasted": 1,
    }


def test_a_paid_call_in_flight_at_each_of_two_kills_may_be_repeated_twice() -> None:
    end = "search.query [found] tickets.create [filed] DONE"
    verdict = judged(f"1> search.query:applied KILL | 2> search.query KILL | 3> {end}", RESEARCH)
    assert (verdict.kind, codes(verdict)) == (VerdictKind.OK, ["repeated_unrecorded_paid_work"])
    assert only(verdict, "repeated_unrecorded_paid_work").detail["cost"] == 1.0


def test_a_paid_request_that_was_only_received_was_not_charged() -> None:
    verdict = judged("1> search.query:received KILL | 2> search.query [found] tickets.create [filed] DONE", RESEARCH)
    assert codes(verdict) == []


def test_a_paid_request_that_was_only_received_excuses_no_other_repeat() -> None:
    probe = "search.query [one] search.query [two] tickets.create"
    end = "search.query [one] search.query [two] tickets.create DONE"
    verdict = judged(f"1> search.query [one] search.query:received KILL | 2> {end}", probe)
    assert only(verdict, "wasted").detail["allowed"] == 0


def test_a_paid_call_that_was_refused_was_not_charged() -> None:
    assert codes(judged("1> search.query=>rejected search.query [found] tickets.create DONE", RESEARCH)) == []


def test_waste_of_one_service_is_not_excused_by_a_call_in_flight_at_another() -> None:
    probe = "search.query [found] model.chat [said] tickets.create"
    verdict = judged(
        "1> search.query [found] model.chat:applied KILL | 2> search.query [found] model.chat tickets.create DONE",
        probe,
    )
    assert only(verdict, "wasted").operation == "search.query"
    assert only(verdict, "repeated_unrecorded_paid_work").operation == "model.chat"


def test_wasted_work_beside_a_duplicate_is_a_duplicate() -> None:
    verdict = judged("1> search.query [found] tickets.create KILL | 2> search.query tickets.create DONE", RESEARCH)
    assert verdict.kind == "duplicate"
    assert codes(verdict) == ["duplicate", "wasted"]


# ------------------------------------------------------- approvals, and order


APPROVED = ApprovalRule(
    operation="tickets.create", field="body.text", approved_by="approvals.request", artifact="body.text"
)
JOINED = ApprovalRule(
    operation="tickets.create",
    field="body.text",
    approved_by="approvals.request",
    artifact="body.text",
    join=(("body.partner_id", "body.partner_id"),),
)
ASK_AND_FILE = "approvals.request(text=A) [approved] tickets.create(text=A)"


@pytest.mark.parametrize(
    ("verdict", "history"),
    [
        ("ok", "1> approvals.request(text=A) [approved] KILL | 2> tickets.create(text=A) DONE"),
        ("diverged", "1> approvals.request(text=A) [approved] KILL | 2> tickets.create(text=B) DONE"),
        ("diverged", "1> approvals.request(text=A) [approved] KILL | 2> tickets.create DONE"),
    ],
)
def test_what_is_filed_must_be_what_was_approved(verdict: str, history: str) -> None:
    assert judged(history, ASK_AND_FILE, approvals=(APPROVED,)).kind == verdict


def test_a_text_that_neither_side_has_is_not_approved() -> None:
    verdict = judged("1> approvals.request tickets.create DONE", ASK_AND_FILE, approvals=(APPROVED,))
    assert verdict.kind == "diverged"


def test_filing_before_any_approval_diverges() -> None:
    verdict = judged("1> tickets.create(text=A) approvals.request(text=A) DONE", ASK_AND_FILE, approvals=(APPROVED,))
    assert (
        only(verdict, "not_as_approved").summary == "The ticket T-1 was filed with a text before anything was approved"
    )


def test_a_divergence_shows_what_was_approved_and_what_was_filed() -> None:
    verdict = judged("1> approvals.request(text=A) tickets.create(text=B) DONE", ASK_AND_FILE, approvals=(APPROVED,))
    detail = only(verdict, "not_as_approved").detail
    assert (detail["approved"], detail["filed"]) == ("A", "B")


def test_an_approval_of_another_partner_does_not_count_where_the_two_are_joined() -> None:
    probe = "approvals.request(1,text=A) approvals.request(2,text=B) tickets.create(1,text=A) tickets.create(2,text=B)"
    swapped = (
        "approvals.request(1,text=A) approvals.request(2,text=B) tickets.create(1,text=B) tickets.create(2,text=A)"
    )
    assert judged(f"1> {swapped} DONE", probe, approvals=(APPROVED,)).kind == "ok"
    verdict = judged(f"1> {swapped} DONE", probe, approvals=(JOINED,))
    assert codes(verdict) == ["not_as_approved", "not_as_approved"]
    assert judged(f"1> {probe} DONE", probe, approvals=(JOINED,)).kind == "ok"


def test_a_request_for_approval_that_was_refused_approves_nothing() -> None:
    verdict = judged(
        "1> approvals.request(text=A) approvals.request(text=B)=>rejected tickets.create(text=B) DONE",
        ASK_AND_FILE,
        approvals=(APPROVED,),
    )
    assert verdict.kind == "diverged"


ORDER = OrderRule(before="approvals.request", after="tickets.create")


@pytest.mark.parametrize(
    ("verdict", "history"),
    [
        ("ok", "1> approvals.request tickets.create DONE"),
        ("diverged", "1> tickets.create approvals.request DONE"),
        ("diverged", "1> approvals.request:received KILL | 2> tickets.create approvals.request DONE"),
        ("ok", "1> approvals.request:applied KILL | 2> tickets.create DONE"),
    ],
)
def test_an_order_rule_looks_at_effects_and_not_at_attempts(verdict: str, history: str) -> None:
    assert judged(history, "approvals.request tickets.create", orders=(ORDER,)).kind == verdict


def test_a_paid_call_can_be_what_must_come_first_and_counts_once_it_was_served() -> None:
    rules = (OrderRule(before="search.query", after="tickets.create"),)
    probe = "search.query tickets.create"
    assert judged("1> search.query tickets.create DONE", probe, orders=rules).kind == "ok"
    late = judged("1> search.query:received KILL | 2> tickets.create search.query DONE", probe, orders=rules)
    assert codes(late) == ["out_of_order"]


# --------------------------------------------------------------------- checks


@pytest.mark.parametrize(
    ("verdict", "check"),
    [
        ("ok", "CHECK(total,holds)"),
        ("diverged", "CHECK(total,fails)"),
        ("lost", "CHECK(total,fails,lost)"),
        ("inconclusive", "CHECK(total,broken)"),
        ("inconclusive", "CHECK(total,fails,nonsense)"),
    ],
)
def test_a_check_of_the_users_own_has_the_verdict_that_it_asks_for(verdict: str, check: str) -> None:
    assert judged(f"1> tickets.create:received KILL | 2> tickets.create DONE {check}", TICKET).kind == verdict


def test_a_check_that_does_not_hold_is_named_with_what_it_said() -> None:
    verdict = judged("1> tickets.create DONE CHECK(total,fails)", TICKET)
    assert verdict.headline == "the check `total` does not hold: total says so"


# ------------------------------------------------------------ what runs prove


def test_a_planned_fault_that_never_struck_makes_the_cell_inconclusive() -> None:
    verdict = judged("1> tickets.create [journal] DONE", TICKET, plan="1/kill@notify.send#1:applied")
    assert only(verdict, "not_reached").summary == "life 1 never came to notify.send#1:applied"


def test_the_second_of_two_planned_faults_has_to_strike_as_well() -> None:
    plan = "1/kill@tickets.create#1:received;2.kill@tickets.create#1:received"
    history = "1> tickets.create:received KILL | 2> tickets.create [journal] DONE"
    assert codes(judged(history, TICKET, plan=plan)) == ["not_reached"]


def test_probes_that_differ_make_every_cell_inconclusive() -> None:
    verdict = judged("1> tickets.create(1) DONE", "tickets.create(1)", "tickets.create(1) notify.send(1)")
    assert verdict.kind == "inconclusive"
    assert set(codes(verdict)) >= {"nondeterministic"}


@pytest.mark.parametrize(
    ("code", "history"),
    [
        ("no_attempts", "1> DONE"),
        ("not_concluded", "1> tickets.create:received KILL | 2> tickets.create"),
        ("unsettled", "1> tickets.create:received KILL(unsettled) | 2> tickets.create DONE"),
        ("kill_did_not_land", "1> tickets.create:received KILL(exit=0) | 2> tickets.create DONE"),
        ("oom_did_not_land", "1> tickets.create:received OOM(spared) | 2> tickets.create DONE"),
        ("store_changed_at_death", "1> tickets.create:received KILL(store) | 2> tickets.create DONE"),
        ("client_gave_up", "1> tickets.create:received GONE KILL | 2> tickets.create DONE"),
        ("wrote_outside", "1> OUTSIDE(/etc/x) tickets.create:received KILL | 2> tickets.create DONE"),
        ("target_failed", "1> NOTE(target_failed) tickets.create:received KILL | 2> tickets.create DONE"),
    ],
)
def test_a_run_that_proves_nothing_says_why(code: str, history: str) -> None:
    verdict = judged(history, "tickets.create")
    assert only(verdict, code).kind is VerdictKind.INCONCLUSIVE


@pytest.mark.parametrize(
    ("code", "history"),
    [
        ("connection_refused", "1> NOTE(connection_refused) tickets.create:received KILL | 2> tickets.create DONE"),
        ("injector_trouble", "1> NOTE(injector_trouble) tickets.create:received KILL | 2> tickets.create DONE"),
        ("egress_refused", "1> EGRESS(api.example.com) tickets.create:received KILL | 2> tickets.create DONE"),
        ("blocks_event_loop", "1> BLOCKS tickets.create:received KILL | 2> tickets.create DONE"),
        ("worker_clock_unmoved", "1> tickets.create:received KILL(down=72h) | 2> tickets.create DONE"),
        ("worker_clock_unmoved", "1> tickets.create:received KILL(down=72h) | 2> READY(unmoved) tickets.create DONE"),
        ("unclean_exit", "1> tickets.create:received KILL | 2> tickets.create EXIT(1) 3> DONE"),
    ],
)
def test_a_remark_colours_nothing(code: str, history: str) -> None:
    verdict = judged(history, "tickets.create")
    assert (verdict.kind, codes(verdict)) == (VerdictKind.OK, [code])


def test_a_clock_that_moved_along_needs_no_remark() -> None:
    verdict = judged("1> tickets.create:received KILL(down=72h) | 2> READY(moved) tickets.create DONE", TICKET)
    assert codes(verdict) == []


# ----------------------------------------------------------------------- keys


KEYED = "tickets.create(key=k)"


@pytest.mark.parametrize(
    ("unstable", "history"),
    [
        (False, "1> tickets.create(key=k):applied KILL | 2> tickets.create(key=k)=>replayed DONE"),
        (True, "1> tickets.create(key=k):applied KILL | 2> tickets.create(key=m) DONE"),
        (True, "1> tickets.create(key=k):received KILL | 2> tickets.create(key=m) DONE"),
        (True, "1> tickets.create(key=k)=>rejected tickets.create(key=m) DONE"),
        (False, "1> tickets.create:received KILL | 2> tickets.create(key=m) DONE"),
    ],
)
def test_a_key_that_changes_between_attempts_is_remarked_with_or_without_harm(unstable: bool, history: str) -> None:
    assert ("unstable_key" in codes(judged(history, KEYED, facts=KEYS))) is unstable


def test_a_key_for_each_of_several_actions_is_stable() -> None:
    for both in ("tickets.create({n},key=k{n})", "crm.add({n},key=k{n})"):
        one, two = both.format(n=1), both.format(n=2)
        received = two + ":received"
        verdict = judged(f"1> {one} {received} KILL | 2> {two} DONE", f"{one} {two}", facts=KEYS)
        assert codes(verdict) == []


def test_a_key_for_each_of_two_declared_effects_is_stable() -> None:
    one, two = "tickets.create(key=k1)", "tickets.create(key=k2)"
    verdict = judged(
        f"1> {one} {two}:received KILL | 2> {one}=>replayed {two} DONE",
        f"{one} {two}",
        facts=KEYS,
        declared_counts={"tickets.create": 2},
    )
    assert codes(verdict) == []


def test_an_unstable_key_at_an_undescribed_target_is_remarked() -> None:
    verdict = judged("1> crm.add(1,key=a):applied KILL | 2> crm.add(1,key=b) DONE", "crm.add(1,key=a)")
    assert codes(verdict) == ["duplicate", "unstable_key"]
    assert "the payload was the same" in only(verdict, "unstable_key").summary


# ------------------------------------------------------------ the facts count


def test_what_an_operation_is_called_comes_from_the_facts_also_where_there_are_none() -> None:
    assert judged("1> tickets.create:applied KILL | 2> tickets.create DONE", TICKET, facts=WORLD).headline.startswith(
        "Two tickets"
    )
    nameless = world("tickets.create", noun=("", ""))
    assert judged(
        "1> tickets.create:applied KILL | 2> tickets.create DONE", TICKET, facts=nameless
    ).headline.startswith("Two effects of tickets.create")


def test_a_file_that_was_opened_and_not_yet_written_records_nothing() -> None:
    run = h("1> search.query [found]:committing KILL | 2> search.query [found] tickets.create [filed] DONE")
    opened = tuple(
        replace(event, store_digest="an empty file is there")
        if event.kind in ("boundary_reached", "fault_injected", "incarnation_ended")
        and event.incarnation == 1
        and getattr(event, "phase", "committing") == "committing"
        else event
        for event in run.history
    )
    verdict = judge(History(events=opened), expect(RESEARCH), run.schedule)
    assert codes(verdict) == ["repeated_unrecorded_paid_work"]


def test_paid_calls_of_a_life_that_failed_before_it_recorded_anything_are_not_said_to_have_been_recorded() -> None:
    verdict = judged("1> search.query EXIT(1) | 2> search.query [found] tickets.create [filed] DONE", RESEARCH)
    assert "repeated_unrecorded_paid_work" in codes(verdict)
    assert "wasted" not in codes(verdict)


def test_paid_calls_that_a_failing_life_had_recorded_are_wasted_when_they_are_made_again() -> None:
    verdict = judged("1> search.query [found] EXIT(1) | 2> search.query [found] tickets.create [filed] DONE", RESEARCH)
    assert only(verdict, "wasted").detail["wasted"] == 1
