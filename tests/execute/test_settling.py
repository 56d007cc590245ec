"""What has to be quiet before a fault strikes, and what may then be said of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import chain, count, repeat

import pytest

from ackgap.execute.life import Life
from ackgap.execute.plain_process import PlainProcess
from ackgap.execute.settling import settle
from ackgap.execute.store import DurableStore
from ackgap.model.boundary import BoundaryKind
from ackgap.model.event import Injector, Settling
from ackgap.scenario.scenario import Limits

LIMITS = replace(Limits(), quiet_s=0.01, settle_s=0.2)


def settled(tmp_path, kept, *, has_injector: bool, has_unhooked: bool) -> Settling:
    life = Life(incarnation=1, token="t", process=PlainProcess(token="t", output_bytes=0))
    life.frozen_at = BoundaryKind.CALL
    if has_injector:
        life.injectors[1] = Injector.PYTHON
    store = DurableStore(tmp_path, beside=lambda: str(next(kept)), has_unhooked=has_unhooked)
    return asyncio.run(settle(life, store, LIMITS))


def test_hooks_alone_prove_that_nothing_is_in_flight_where_they_see_every_write(tmp_path):
    assert settled(tmp_path, count(), has_injector=True, has_unhooked=False) is Settling.SETTLED


@pytest.mark.parametrize("has_injector", [True, False])
def test_what_no_hook_sees_is_waited_for_and_not_called_proven(tmp_path, has_injector):
    """As an acknowledgment that another thread is about to send while the call stands parked."""
    kept = chain(("in the queue", "in the queue", "acknowledged"), repeat("acknowledged"))
    assert settled(tmp_path, kept, has_injector=has_injector, has_unhooked=True) is Settling.QUIET_OBSERVED
    assert next(kept) == "acknowledged"


def test_a_service_that_never_goes_quiet_leaves_it_unsettled_although_the_hooks_are(tmp_path):
    assert settled(tmp_path, count(), has_injector=True, has_unhooked=True) is Settling.UNSETTLED


def test_a_write_that_a_hook_sees_under_way_is_not_made_up_for_by_a_quiet_service(tmp_path):
    life = Life(incarnation=1, token="t", process=PlainProcess(token="t", output_bytes=0))
    life.frozen_at = BoundaryKind.CALL
    life.injectors[1] = Injector.PYTHON
    life.turnstile.begin((1, 1), "sqlite.db.commit")
    store = DurableStore(tmp_path, beside=lambda: "quiet", has_unhooked=True)
    assert asyncio.run(settle(life, store, LIMITS)) is Settling.UNSETTLED
