"""Bounds: which schedules a run was to try, and what became of each of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Bounds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What "every schedule" meant in a run. Nothing is cut silently: `held` is the sum of the last five but `audited`.

    Attributes:
        depth: How many lives a schedule may strike, one after the other.
        faults: What is done at a point, in words.
        points: Globs over crash points; none means every point.
        variants: How many variants.
        orders: Whether durable writes that run beside each other were also tried in the other order.
        named: How many schedules were asked for by name, beyond the bounds.
        ran: Schedules that were run, over all variants, the undisturbed runs not counted.
        equal: Schedules that were not run because they lead to the same state as one that was.
        impossible: Schedules that could not happen: the variant does not have the point, nothing of the kind can be
            done there, or the worker does not let the two writes pass each other.
        left: Schedules that were not reached, since the run was ended before.
        unexplored: Schedules that go on from one that proves nothing itself, so that its recovery was not struck again;
            those are counted that another variant has.
        audited: Of those that ran, how many only to see whether states that look equal are.
    """

    depth: int = 1
    faults: tuple[str, ...] = ("killed",)
    points: tuple[str, ...] = ()
    variants: int = 1
    orders: bool = False
    named: int = 0
    ran: int = 0
    equal: int = 0
    impossible: int = 0
    left: int = 0
    unexplored: int = 0
    audited: int = 0

    @property
    def held(self) -> int:
        """How many schedules lie within the bounds."""
        return self.ran + self.equal + self.impossible + self.left + self.unexplored
