"""What is run, what follows from it and what need not be run, of workers that exist only on paper."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from simulated import Worker, explored, resuming, verdicts

from ackgap.campaign.accounts import bounds_of, exploration_notes
from ackgap.campaign.exploration import Exploration, Fate
from ackgap.campaign.sample import Sample
from ackgap.campaign.selection import Selection
from ackgap.model.manner import Manner
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind

JOURNAL = resuming(["[intent]", "tickets.create", "[journal]"])


def remembers_that_it_asked(store, tickets):
    """One crash is fine: the service is asked. A second one meets an answer that is out of date."""
    if not store:
        return ["[intent]", "tickets.create", "[journal]"]
    if "journal" in store:
        return []
    if "asked" in store:
        return ["tickets.create", "[journal]"]
    return ["tickets.find", "[journal]"] if tickets else ["tickets.find", "[asked]", "tickets.create", "[journal]"]


def test_at_depth_one_each_point_of_the_undisturbed_run_is_killed_once():
    found, exploration, _ = explored(Worker(JOURNAL), Selection())
    assert len(found) == 8
    assert set(exploration.fates.values()) == {Fate.RAN}
    assert verdicts(found)["tickets.create#1:applied@default"] == "duplicate"


def test_a_bug_of_the_recovery_shows_at_depth_two_and_not_before():
    worker = Worker(remembers_that_it_asked)
    assert set(verdicts(explored(worker, Selection())[0]).values()) == {"ok"}
    found = verdicts(explored(worker, Selection(depth=2))[0])
    red = {cell for cell, verdict in found.items() if verdict == "duplicate"}
    assert "kill@tickets.create#1:sending;2.kill@tickets.create#1:applied@default" in red
    assert all(cell.count("kill@") == 2 for cell in red)


def test_the_points_of_a_recovery_are_those_that_this_recovery_passed():
    found, _, _ = explored(Worker(remembers_that_it_asked), Selection(depth=2))
    after = [cell for cell in found if cell.startswith("kill@tickets.create#1:applied;")]
    assert after == [
        f"kill@tickets.create#1:applied;2.kill@journal#1:{phase}@default" for phase in ("committing", "committed")
    ]


def test_globs_choose_among_the_points_of_recoveries_too():
    found, _, _ = explored(Worker(remembers_that_it_asked), Selection(depth=2, points=("tickets.*",)))
    assert found
    assert all(text.count("tickets.create") == text.count("#") for text in found)


def test_depth_three_strikes_the_recovery_of_a_recovery():
    found, _, _ = explored(Worker(JOURNAL), Selection(depth=3, points=("*:sending", "*:applied")))
    assert max(result.schedule.depth for result in found.values()) == 3
    assert {schedule.schedule.depth for schedule in found.values()} == {1, 2, 3}
    deep = "kill@tickets.create#1:applied;2.kill@tickets.create#1:applied;3.kill@tickets.create#1:applied@default"
    assert found[deep].effects == {"tickets.create": 4}


def test_nothing_goes_deeper_from_a_pause_or_a_fault_of_a_target():
    for text in ("pause@tickets.create#1:sending", "lose@tickets.create#1:applied"):
        schedule = Schedule.parse(text)
        exploration = Exploration(Selection(schedules=(schedule,), depth=3))
        worker = Worker(JOURNAL)
        assert exploration.begin(worker.expectation.points, worker.probe()) == (schedule,)
        step = exploration.take(schedule, worker.run(Schedule.parse("tickets.create#1:sending")))
        assert step.run == ()


def test_a_recovery_whose_own_cell_proves_nothing_is_not_gone_into_and_that_is_said():
    worker = Worker(JOURNAL)
    selection = Selection(depth=2, points=("*:applied",))
    exploration = Exploration(selection)
    (schedule,) = exploration.begin(worker.expectation.points, worker.probe())
    unsettled = worker.run(Schedule.parse("tickets.create#1:returned"))  # what was planned was never reached
    step = exploration.take(schedule, worker_result(unsettled, schedule, VerdictKind.INCONCLUSIVE))
    assert step.run == ()
    bounds = bounds_of(selection, [worker.variant], {worker.variant: exploration}, complete=True)
    notes = list(exploration_notes(selection, bounds, {worker.variant: exploration}, ""))
    assert notes == ["The recoveries of 1 cells were not struck again, since those cells themselves prove nothing."]


def worker_result(result, schedule, kind):
    return replace(result, schedule=schedule, verdict=replace(result.verdict, kind=kind))


# ------------------------------------------------------------------- pruning


def test_points_with_one_crash_state_are_run_once_and_take_its_verdict():
    worker = Worker(resuming(["[a]", "tickets.create", "[b]", "search.query", "[c]"]))
    found, exploration, broken = explored(worker, Selection(), prunes=True)
    assert broken == []
    equal = {cell: result.equal_to for cell, result in found.items() if result.equal_to}
    ran = set(worker.ran)
    assert len(found) == 14
    assert {cell.partition("@")[0] for cell in found} - ran == {cell.partition("@")[0] for cell in equal}
    # The gap: applied, returned and committing are one state, of which one may be run to check that.
    gap = ["tickets.create#1:applied@default", "tickets.create#1:returned@default", "b#1:committing@default"]
    assert sum(cell in equal for cell in gap) >= 1
    assert {equal[cell] for cell in gap if cell in equal} == {gap[0]}
    assert exploration.audited == 1


def test_without_pruning_everything_is_run():
    worker = Worker(JOURNAL)
    found, _, _ = explored(worker, Selection())
    assert len(worker.ran) == len(found)
    assert not any(result.equal_to for result in found.values())


def test_a_recovery_that_is_struck_before_it_changed_anything_is_like_the_one_before():
    worker = Worker(JOURNAL)
    selection = Selection(depth=3, points=("tickets.create#1:sending", "tickets.create#1:applied"))
    found, _, broken = explored(worker, selection, prunes=True)
    assert broken == []
    again = "kill@tickets.create#1:applied;2.kill@tickets.create#1:sending"
    assert found[f"{again};3.kill@tickets.create#1:applied@default"].verdict.kind is VerdictKind.DUPLICATE
    assert found[f"{again}@default"].incarnations == 3
    assert len(worker.ran) < len(found)


def test_recoveries_of_different_crashes_that_come_to_the_same_state_are_struck_there_once():
    worker = Worker(resuming(["[a]", "[b]", "tickets.create", "[c]"]))
    found, _, broken = explored(worker, Selection(depth=2, points=("*:committing", "*:applied")), prunes=True)
    assert broken == []
    # Nothing had been done when the first life died at the first write: the second one is like it throughout.
    again = found["kill@a#1:committing;2.kill@tickets.create#1:applied@default"]
    assert again.equal_to == "tickets.create#1:applied@default"
    assert again.incarnations == 3
    # What was paid or done before, and not recorded, is another past.
    other = found["kill@tickets.create#1:applied;2.kill@tickets.create#1:applied@default"]
    assert other.equal_to == ""


def test_states_that_look_equal_and_are_not_break_the_run_and_both_cells_are_named():
    def notes_where_nobody_looks(store, tickets):
        """How far a life came decides what the next one does, and the store's digest does not show it."""
        if not store:
            return ["[intent]", "tickets.create", "[journal]"]
        return ["tickets.create", "[journal]"] if store.count("secret") % 2 else ["tickets.find"]

    worker = Worker(notes_where_nobody_looks, secret=True)
    _, _, broken = explored(worker, Selection(points=("tickets.*",)), prunes=True)
    assert broken
    assert "tickets.create#1:" in broken[0]
    assert " is " in broken[0]
    assert " and " in broken[0]


def test_about_one_in_twenty_is_checked():
    schedules = [Schedule.parse(f"a.b#{number}:applied") for number in range(1, 2001)]
    sample = Sample()
    chosen = sample.of(schedules)
    assert 80 <= len(chosen) == sample.chosen <= 120


@given(count=st.integers(1, 60), seed=st.randoms(use_true_random=False))
def test_the_same_are_checked_in_whatever_order_they_come_and_at_least_one(count, seed):
    schedules = [Schedule.parse(f"a.b#{number}:applied") for number in range(1, count + 1)]
    samples = Sample(), Sample()
    for sample in samples:
        sample.expect(schedules)
    at_once = samples[0].of(schedules)
    seed.shuffle(schedules)
    one_by_one = frozenset().union(*(samples[1].of([schedule]) for schedule in schedules))
    assert at_once == one_by_one
    assert at_once


def test_where_the_one_that_was_chosen_runs_anyway_another_is_checked():
    first, second = Schedule.parse("a.b#1:applied"), Schedule.parse("a.b#2:applied")
    sample = Sample()
    sample.expect([first])
    sample.missed([first])
    assert sample.of([second]) == {second}


def test_where_none_was_expected_the_first_that_comes_is_checked():
    sample = Sample()
    assert len(sample.of([Schedule.parse("a.b#1:applied")])) == 1


def test_what_is_sampled_is_not_always_the_first():
    points = [[f"a.b#{place}:applied" for place in range(first, first + 10)] for first in range(1, 200, 10)]
    groups = [[Schedule.parse(point) for point in group] for group in points]
    assert len({group.index(next(iter(Sample().of(group)))) for group in groups}) > 3


STEPS = st.lists(st.sampled_from(["write", "tickets.create", "search.query"]), min_size=1, max_size=5)


def numbered(steps):
    return [f"[w{place}]" if step == "write" else step for place, step in enumerate(steps)]


@settings(deadline=None, max_examples=25)
@given(STEPS, st.booleans(), st.integers(1, 3), st.booleans(), st.booleans())
def test_pruned_and_unpruned_runs_have_the_same_cells_with_the_same_verdicts(steps, looks, depth, last_first, alike):
    assume("tickets.create" in steps)
    program = resuming(numbered(steps), looks=looks)
    points = ("*:sending", "*:applied", "*:returned", "*:committ*") if depth < 3 else ("*:applied", "*:committed")
    plain, pruned = Worker(program), Worker(program)
    selection = Selection(depth=depth, points=points)
    expected, _, _ = explored(plain, selection)
    found, exploration, broken = explored(pruned, selection, prunes=True, last_first=last_first, lives_alike=alike)
    assert broken == []
    assert verdicts(found) == verdicts(expected)
    assert len(pruned.ran) + sum(fate is Fate.EQUAL for fate in exploration.fates.values()) == len(found)
    assert len(pruned.ran) == len(set(pruned.ran)) <= len(plain.ran)
    assert all(found[result.equal_to].equal_to == "" for result in found.values() if result.equal_to)
    effects = {cell: result.effects for cell, result in found.items()}
    assert effects == {cell: result.effects for cell, result in expected.items()}


# -------------------------------------------------------------------- bounds

ONE, TWO = Variant(values=(("v", "one"),)), Variant(values=(("v", "two"),))


def begun(selection, program):
    worker = Worker(program)
    exploration = Exploration(selection)
    return worker, exploration, list(exploration.begin(worker.expectation.points, worker.probe()))


def test_what_the_bounds_hold_is_the_sum_of_what_became_of_it():
    selection = Selection(faults=(Manner(), Manner.parse("lose")))
    worker, exploration, waiting = begun(selection, JOURNAL)
    assert [schedule.label for schedule in waiting].count("lose@tickets.create#1:applied") == 1
    for schedule in waiting[:5]:
        exploration.take(schedule, worker.run(schedule))
    bounds = bounds_of(selection, [ONE, TWO], {ONE: exploration}, complete=False)
    assert (bounds.ran, bounds.equal) == (5, 0)
    # An answer can be lost at one of eight points. Nothing is known of the second variant but what the first showed.
    assert bounds.impossible == 7
    assert bounds.left == (9 - 5) + 9
    assert bounds.held == bounds.ran + bounds.equal + bounds.impossible + bounds.left


def test_a_point_that_one_variant_does_not_have_could_not_happen_there():
    selection = Selection()
    explorations = {}
    for variant, program in ((ONE, JOURNAL), (TWO, resuming(["tickets.create", "[journal]"]))):
        worker, exploration, waiting = begun(selection, program)
        for schedule in waiting:
            exploration.take(schedule, worker.run(schedule))
        explorations[variant] = exploration
    bounds = bounds_of(selection, [ONE, TWO], explorations, complete=True)
    assert (bounds.ran, bounds.impossible, bounds.left) == (14, 2, 0)


def test_what_follows_a_recovery_that_was_not_reached_is_left_and_not_impossible():
    selection = Selection(depth=2, points=("*:applied",))
    worker, whole, waiting = begun(selection, JOURNAL)
    while waiting:
        schedule = waiting.pop(0)
        waiting += whole.take(schedule, worker.run(schedule)).run
    _, ended, _ = begun(selection, JOURNAL)
    bounds = bounds_of(selection, [ONE, TWO], {ONE: whole, TWO: ended}, complete=False)
    assert (bounds.ran, bounds.impossible, bounds.left) == (2, 0, 2)


def test_named_schedules_are_counted_beyond_the_bounds():
    selection = Selection(schedules=(Schedule.parse("kill@tickets.create#1:applied"),))
    worker, exploration, waiting = begun(selection, JOURNAL)
    assert len(waiting) == 1
    exploration.take(waiting[0], worker.run(waiting[0]))
    bounds = bounds_of(selection, [ONE], {ONE: exploration}, complete=True)
    assert (bounds.named, bounds.ran, bounds.faults, bounds.impossible) == (1, 1, (), 0)


def test_what_follows_a_cell_that_proves_nothing_is_not_gone_into_and_not_impossible():
    selection = Selection(depth=2, points=("*:applied",))
    explorations = {}
    for variant in (ONE, TWO):
        worker, exploration, waiting = begun(selection, JOURNAL)
        while waiting:
            schedule = waiting.pop(0)
            result = worker.run(schedule)
            if variant is TWO and schedule.depth == 1:
                unsure = Finding(kind=VerdictKind.INCONCLUSIVE, code="kill_did_not_land", summary="it did not land")
                result = replace(result, verdict=Verdict.of([unsure]))
            waiting += exploration.take(schedule, result).run
        explorations[variant] = exploration
    one, two = (bounds_of(selection, [ONE], {ONE: explorations[variant]}, complete=True) for variant in (ONE, TWO))
    both = bounds_of(selection, [ONE, TWO], explorations, complete=True)
    assert (both.ran, both.unexplored) == (one.ran + two.ran, one.ran - two.ran)
    assert both.unexplored > 0
    assert (both.impossible, both.left) == (0, 0)
    assert both.held == 2 * one.held
