"""A fingerprint of what a run is: results of two runs belong together where it is the same.

Scenario, selection, files of the worker, profiles and versions go in; where they lie, and how the run is carried
through (how many at a time, warm or not), does not.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ackgap.campaign.selection import Selection
from ackgap.execute.workspace import content_digest, copied_files
from ackgap.model.codec import encode
from ackgap.scenario.scenario import Scenario

__all__ = ["differences", "fingerprint"]

_PARTS = ("the scenario", "the files", "a version", "the selection")
"""Of a fingerprint, in its order. Files are those of the worker, with the scenario's if it lies there, and profiles."""

_OF_THE_MACHINE = ("platform",)


def fingerprint(scenario: Scenario, selection: Selection, versions: Mapping[str, str], *, results: Path) -> str:
    """Return it as hexadecimal digits, in groups of which each tells of one part.

    Args:
        scenario: What is run.
        selection: Which part of it.
        versions: What the results depend on.
        results: Where they go; nothing that lies there counts.
    """
    told = {name: text for name, text in versions.items() if name not in _OF_THE_MACHINE}
    as_run = replace(scenario, known_gaps=())  # what is declared of a run's end changes nothing of the run
    written = [_digest([_elsewhere(scenario, part).encode()]) for part in (encode(as_run), told, encode(selection))]
    return "-".join([written[0], _digest(_files(scenario, results)), *written[1:]])


def differences(one: str, other: str) -> tuple[str, ...]:
    """Return the parts in which two fingerprints differ, as words; of one of another form no part can be compared."""
    groups = list(zip(one.split("-"), other.split("-"), strict=False))
    if len(groups) != len(_PARTS):
        return ("the version of ackgap",) if one != other else ()
    return tuple(part for part, (mine, yours) in zip(_PARTS, groups, strict=True) if mine != yours)


def _elsewhere(scenario: Scenario, document: object) -> str:
    """Return a document as text that is the same where the files lie elsewhere."""
    text = json.dumps(document, sort_keys=True)
    for place in _places(scenario):
        text = text.replace(json.dumps(str(place))[1:-1], ".")
    return text


def _files(scenario: Scenario, results: Path) -> Iterator[bytes]:
    for directory in _directories(scenario):
        for name, file in copied_files(directory):
            if results.resolve() in file.resolve().parents:
                continue
            yield f"\n{name}\n".encode("utf-8", "surrogateescape")
            yield content_digest(file)
    for target in scenario.targets:
        yield content_digest(Path(target.profile))  # of a profile that ships with ackgap the version tells


def _digest(pieces: Iterable[bytes]) -> str:
    total = hashlib.blake2b(digest_size=8)
    for piece in pieces:
        total.update(piece)
    return total.hexdigest()


def _places(scenario: Scenario) -> Iterator[Path]:
    """Yield what is elsewhere on another machine, the deepest first."""
    known = {Path(sys.prefix), *_directories(scenario)}
    if scenario.source:
        known.add(Path(scenario.source).parent)
    yield from sorted(known, key=lambda path: -len(str(path)))


def _directories(scenario: Scenario) -> Iterator[Path]:
    found = [scenario.worker.directory, *(release.directory for release in scenario.releases)]
    yield from dict.fromkeys(directory for directory in found if directory is not None)
