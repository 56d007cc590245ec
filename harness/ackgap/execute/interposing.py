"""Interposing: what a slot keeps for targets that stand in front of real services, and what each cell gets of it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path

from ackgap.execute.forwarder import door_of
from ackgap.execute.order import Order
from ackgap.model.matrix import cell_id
from ackgap.scenario.scenario import TargetSpec
from ackgap.target.upstream.interposer import Interposer, ObjectMemory
from ackgap.target.upstream.live import LiveUpstream
from ackgap.target.upstream.playback import Player
from ackgap.target.upstream.recording import Recording, RecordingWriter

__all__ = ["Interposing", "new_own_words", "speaks_of_cell"]

_PLACEHOLDER = "{cell}"


def new_own_words() -> str:
    """Return a text for `{cell}` that no other cell has, of a form that is taken for an id wherever it stands."""
    return f"{secrets.randbelow(10)}{secrets.token_hex(5)}"


def speaks_of_cell(order: Order) -> bool:
    """Whether the worker is told a text that is another in each cell."""
    worker, values = order.scenario.worker, order.scenario.values_of(order.variant)
    texts: list[Iterable[str]] = [worker.command, worker.resume_command or (), worker.env.values()]
    for value in values:
        texts += [value.command or (), value.resume_command or (), value.env.values()]
    return any(_PLACEHOLDER in text for some in texts for text in some)


class Interposing:
    """Upstreams and recordings, opened once in a slot.

    Args:
        directory: Of the run, where the doors to the upstreams are.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._live: dict[str, LiveUpstream] = {}
        self._recordings: dict[Path, Recording] = {}

    def interposer(
        self, order: Order, target: TargetSpec, *, own_words: str, own_url: str, known: tuple[str, ...] = ()
    ) -> Interposer | None:
        """Return what decides for a target in a cell; None where its profile does.

        Args:
            order: The cell.
            target: The target.
            own_words: What `{cell}` is in that cell.
            own_url: The target's address.
            known: Secrets that the worker was given.

        Raises:
            UsageInvalid: The recording cannot be read.
        """
        if target.replay is None and target.upstream is None:
            return None
        name = cell_id(order.schedule, order.variant)
        name += f" drift {order.drift}" if order.drift else ""
        if target.replay is not None:
            if target.replay not in self._recordings:
                self._recordings[target.replay] = Recording.read(target.replay)
            player = Player(recording=self._recordings[target.replay], cell=name, match=target.replay_match)
            return Interposer(source=player, cell=name, own_words=own_words, own_url=own_url, known=known)
        if target.name not in self._live:
            self._live[target.name] = LiveUpstream(
                str(target.upstream),
                limit_s=target.upstream_limit_s,
                door=door_of(self._directory, order.scenario, target.name),
            )
        writer = None
        if target.record is not None:
            writer = RecordingWriter(target.record, cell=name, own_words=own_words)
        forgets = order.scenario.worker.reset is not None
        return Interposer(
            source=self._live[target.name],
            cell=name,
            own_words=own_words,
            own_url=own_url,
            memory=None if forgets else ObjectMemory(self._directory / "u-objects.jsonl"),
            writer=writer,
            known=known,
        )
