"""`ackgap badge`: a badge of a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from ackgap.errors import UsageInvalid
from ackgap.files import write_whole
from ackgap.report.badge import badge_json, badge_of, badge_svg
from ackgap.report.store import read_run

__all__ = ["badge"]

_MAKERS = {".svg": badge_svg, ".json": badge_json}


def badge(options: argparse.Namespace) -> int:
    """Write the badge of a run into each file that is named."""
    files = [Path(name) for name in options.files]
    for file in files:
        if file.suffix.lower() not in _MAKERS:
            raise UsageInvalid(
                f"{file.name!r} says nothing of what it is to be",
                where=f"ackgap badge, {file}",
                next_step="name a file that ends in .svg (a picture) or .json (for shields.io)",
            )
    made = badge_of(read_run(Path(options.directory)), label=options.label)
    for file in files:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, [_MAKERS[file.suffix.lower()](made)])
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            raise UsageInvalid(
                f"the badge cannot be written: {getattr(error, 'strerror', None) or error}",
                where=f"ackgap badge, {file}",
                next_step="name a place that you can write to",
            ) from error
    print(f"{made.label}: {made.message}")
    return 0
