"""Whether a Docker engine answers that workers can have containers of, and what dead runs have left in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ackgap.errors import AckgapError
from ackgap.execute.containers.docker import address, connect
from ackgap.execute.containers.reaper import left_over
from ackgap.starting.checkup import Checkup

__all__ = ["docker_checks"]

_LIMIT_S = 1.0
_USED_FOR = "workers in containers: worker.image and worker.build; nothing else needs it"


def docker_checks() -> Iterator[Checkup]:
    """Yield what is to be said of the Docker engine of this machine."""
    try:
        api = connect(limit_s=_LIMIT_S)
    except AckgapError as error:
        yield Checkup(
            group="tools",
            name="docker",
            there=False,
            found=f"{error.what} ({error.where})",
            used_for=_USED_FOR,
            remedy=error.next_step.partition("; `ackgap")[0],
        )
        return
    found, left = f"an engine answers at {address()}", Counter[str]()
    try:
        found = f"{api.version()['Version']}, its engine answers at {address()}"
        left.update(one.kind for one in left_over(api))
    except Exception as error:  # whatever it is: it answered, and does no more
        found += f", and then failed: {type(error).__name__}"
    finally:
        api.close()
    yield Checkup(group="tools", name="docker", there=True, found=found, used_for=_USED_FOR)
    if left:
        words = ", ".join(f"{count} {kind}{'s' * (count != 1)}" for kind, count in sorted(left.items()))
        yield Checkup(
            group="tools",
            name="left in docker",
            there=False,
            found=f"{words} of runs whose harness was killed",
            remedy="the next run with a container removes it",
        )
