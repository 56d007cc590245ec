"""Settling: letting durable writes in flight land before a fault strikes."""

from __future__ import annotations

from ackgap.execute.life import Life
from ackgap.execute.store import DurableStore
from ackgap.execute.turnstile import Write
from ackgap.model.boundary import BoundaryKind
from ackgap.model.event import Settling
from ackgap.scenario.scenario import Limits

__all__ = ["settle"]


async def settle(life: Life, store: DurableStore, limits: Limits, *, but: Write | None = None) -> Settling:
    """Let durable writes in flight land, where a hook can tell; watch the store until it is quiet, where none can.

    What goes into a service without a hook, such as a queue in Redis, is watched even if all else is proven: another
    thread may be about to acknowledge a message there. So is a life that may write past the preload library.

    Args:
        life: That stands at its fault's point.
        store: Its durable store.
        limits: How long to wait.
        but: A durable write that has been let through and stands parked before its beginning.
    """
    if life.has_injector:
        # At a call, what was asked for before it lands first; at a checkpoint, what comes after it is held.
        if life.frozen_at is BoundaryKind.CALL:
            proven = await life.turnstile.wait_for_quiet(limit_s=limits.settle_s)
        else:
            proven = await life.turnstile.wait_until_landed(limit_s=limits.settle_s, but=but)
        if not proven or not (store.has_unhooked or life.may_write_unseen):
            return Settling.SETTLED if proven else Settling.UNSETTLED
    else:
        await life.turnstile.wait_until_landed(limit_s=limits.settle_s, but=but)  # of what a proxy before a store knows
    quiet = await store.quiet(for_s=limits.quiet_s, limit_s=limits.settle_s, busy=life.patience.busy)
    return Settling.QUIET_OBSERVED if quiet else Settling.UNSETTLED
