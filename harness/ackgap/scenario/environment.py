"""A virtual environment that a variant's commands run in, so that one matrix can hold several versions of an engine."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ackgap.errors import HarnessFailed

__all__ = ["EnvironmentSpec", "environment_mistakes"]

_NAME_OF_PACKAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:$|[\[(<>=!~;@ ])")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec:
    """What `[environments.NAME]` says, and where it has been made.

    Attributes:
        name: The scenario's name for it.
        about: What it is, one sentence.
        requirements: Lines as in a requirements file, at least one.
        python: A version such as `3.12`, a command, or a path; ackgap's own interpreter where it is None.
        folder: What paths in `requirements` and `python` are relative to.
        directory: Where it has been made; None until then.
    """

    name: str
    about: str = ""
    requirements: tuple[str, ...]
    python: str | None = None
    folder: Path
    directory: Path | None = None

    @property
    def interpreter(self) -> Path:
        """Its Python.

        Raises:
            HarnessFailed: It has not been made.
        """
        return self._bin / "python"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The requirements as arguments of an installer: options are split into words, the others are one each.

        Raises:
            ValueError: A line of options has an open quote.
        """
        return tuple(
            word for line in self.requirements for word in (shlex.split(line) if line.startswith("-") else [line])
        )

    @property
    def packages(self) -> tuple[str, ...]:
        """Names of the packages that the requirements name; paths and options name none."""
        found = (_NAME_OF_PACKAGE.match(line) for line in self.requirements)
        return tuple(match[1] for match in found if match)

    @property
    def _bin(self) -> Path:
        if self.directory is None:
            raise HarnessFailed(
                f"the environment {self.name!r} was not made before a cell needed it",
                where=f"environments.{self.name}",
                next_step="report this; environments are made before the first cell",
            )
        return self.directory / "bin"

    def activated(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return environment variables as they are where this environment is activated; twice is the same as once.

        Raises:
            HarnessFailed: It has not been made.
        """
        first = str(self._bin)
        path = variables.get("PATH", os.defpath).split(os.pathsep)
        kept = {name: value for name, value in variables.items() if name != "PYTHONHOME"}
        return {
            **kept,
            "PATH": os.pathsep.join([first, *(part for part in path if part != first)]),
            "VIRTUAL_ENV": str(self.directory),
        }


def environment_mistakes(spec: EnvironmentSpec) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield the key, what is wrong with it, and what to do, for what a single environment can get wrong."""
    for place, line in enumerate(spec.requirements):
        key = ("requirements", place)
        if not line or line.startswith("#") or "\n" in line or "\0" in line:
            yield key, f"{line!r} is not a requirement.", "Write one as in a requirements file: httpx==0.27.2."
            continue
        try:
            shlex.split(line) if line.startswith("-") else ()
        except ValueError as error:
            yield key, f"{line!r} cannot be split into words: {error}.", "Close the quote."
