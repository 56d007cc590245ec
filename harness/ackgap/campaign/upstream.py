"""What a campaign does about upstreams and recordings before anything is sent anywhere."""

from __future__ import annotations

from collections.abc import Iterator

from ackgap.scenario.scenario import Scenario
from ackgap.scenario.upstream import check_hosts, is_this_machine
from ackgap.target.upstream.recording import Recording, RecordingWriter

__all__ = ["begin_recordings", "check_upstreams", "upstream_notes"]


def check_upstreams(scenario: Scenario) -> None:
    """Refuse hosts that nobody has allowed, and recordings that cannot be read.

    Raises:
        UsageInvalid: Names the target or the file.
    """
    check_hosts(scenario)
    for path in dict.fromkeys(target.replay for target in scenario.targets):
        if path is not None:
            Recording.read(path)


def begin_recordings(scenario: Scenario) -> None:
    """Begin the files that answers are recorded in.

    Raises:
        UsageInvalid: One is there already, or cannot be written.
    """
    for target in scenario.targets:
        if target.record is not None:
            RecordingWriter.begin(target.record, target.name)


def upstream_notes(scenario: Scenario) -> Iterator[str]:
    """Yield what a user has to know before requests leave for a real service."""
    for target in scenario.targets:
        if target.replay is not None:
            yield f"{target.name}: answers come from the recording {target.replay.name}; nothing is sent anywhere."
        if target.upstream is None:
            continue
        where = "on this machine" if is_this_machine(target.upstream_host) else "NOT on this machine, and allowed"
        keeps = ""
        if scenario.worker.reset is None:
            keeps = (
                " It keeps its state from cell to cell: give the worker references of its own in each with {cell}, "
                "or clear it with worker.reset."
            )
        yield (
            f"{target.name}: each request that its profile understands goes on to {target.upstream} ({where}), in "
            f"every cell. What it did is read off its answers.{keeps}"
        )
