"""The targets of a slot, made ready for one cell."""

from __future__ import annotations

from collections.abc import Sequence

from ackgap.execute.order import Order, Surroundings
from ackgap.model.event import Event
from ackgap.target.clock import VirtualClock
from ackgap.target.ledger import Numbering
from ackgap.target.ports import Gate, Recorder

__all__ = ["begin_targets"]


def begin_targets(
    order: Order,
    surroundings: Surroundings,
    *,
    recorder: Recorder,
    gate: Gate,
    clock: VirtualClock,
    own_words: str,
    known: tuple[str, ...] = (),
    earlier: Sequence[Event] = (),
) -> None:
    """Give each target its profile, its protection and its settings, and an empty ledger.

    Args:
        order: Which cell.
        surroundings: Whose targets.
        recorder: Keeps the history.
        gate: Decides when a request may go on.
        clock: The targets' own.
        own_words: What only this cell has in its requests.
        known: Secrets that the worker is given.
        earlier: What has happened already, where the cell begins with a copy.
    """
    numbers = Numbering(earlier)
    interposing = surroundings.interposing
    for target in order.scenario.targets_of(order.variant):
        profile, service = order.profiles[target.name], surroundings.targets[target.name]
        service.begin(
            profile=profile,
            protection=target.protection,
            settings=target.settings,
            reads=target.reads,
            recorder=recorder,
            gate=gate,
            clock=clock,
            drift=order.drift,
            numbers=numbers,
            interposer=interposing.interposer(order, target, own_words=own_words, own_url=service.url, known=known)
            if interposing is not None
            else None,
        )
