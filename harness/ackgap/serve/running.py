"""From targets that are chosen to targets that run, until somebody says that it is enough."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

from ackgap.model.event import Event
from ackgap.serve.control import ControlPort
from ackgap.serve.served import ServedTargets
from ackgap.serve.spec import environment
from ackgap.serve.view import View
from ackgap.serve.watch import Row

__all__ = ["serve"]


async def serve(targets: ServedTargets, *, make_view: Callable[[ServedTargets], View], control_port: int = 0) -> None:
    """Serve until SIGINT or SIGTERM, or until nobody reads the view any more.

    Args:
        targets: Not started yet.
        make_view: Makes what is shown.
        control_port: 0 takes a free one.

    Raises:
        UsageInvalid: A port is not to be had.
        BrokenPipeError: Nobody reads the view any more.
    """
    control = ControlPort(targets, port=control_port)
    await control.start()
    try:
        await targets.start()
        await _show(targets, make_view(targets), control)
    finally:
        await targets.stop()
        await control.stop()


async def _show(targets: ServedTargets, view: View, control: ControlPort) -> None:
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def end(error: BaseException | None = None) -> None:
        if not over.done():
            over.set_result(None) if error is None else over.set_exception(error)

    def tell(event: Event, row: Row | None) -> None:
        # A view that fails must not pass for a failure of the fake service whose event it was told.
        if over.done():
            return
        try:
            view.seen(event, row)
        except Exception as error:
            end(error)

    profiles = {target.name: (target.profile, targets.urls[target.name]) for target in targets.targets}
    view.began(environment(profiles), control.url)
    targets.watch.listen(tell)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    keeping = loop.create_task(view.keep())
    keeping.add_done_callback(lambda task: None if task.cancelled() else end(task.exception()))
    try:
        await over
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        keeping.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await keeping
        await targets.stop()
        with suppress(BrokenPipeError):
            view.ended()
