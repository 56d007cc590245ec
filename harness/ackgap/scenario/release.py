"""Release: another version of the worker's code, which later lives can run: `[releases.NAME]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["ReleaseSpec", "release_mistakes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSpec:
    """What is different once a release is out.

    Attributes:
        name: What a fault calls it: `kill,release=NAME`.
        about: What it changes, one sentence.
        directory: Files that are laid over the cell's directory.
        command: Argument vector of its lives, where it has another one.
        resume_command: The same for lives that come after an earlier one, where that differs.
        env: Added to the worker's environment.
        environment: Name of the environment that its commands run in; the worker's where it is None.
    """

    name: str
    about: str = ""
    directory: Path | None = None
    command: tuple[str, ...] | None = None
    resume_command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    environment: str | None = None


def release_mistakes(spec: ReleaseSpec) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield key below `releases.NAME`, what is wrong with it, and what to do."""
    if spec.directory is not None and not spec.directory.is_dir():
        yield (
            ("directory",),
            f"There is no directory {spec.directory}.",
            "Name the folder that holds the files of the release, relative to the scenario file.",
        )
    if not (spec.directory or spec.command or spec.resume_command or spec.env or spec.environment):
        yield (
            (),
            f"The release {spec.name!r} changes nothing.",
            "Give it a directory, a command, env or an environment.",
        )
