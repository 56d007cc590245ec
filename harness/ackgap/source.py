"""Source: where a scenario comes from, in a form that a later replay can read again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from ackgap.errors import ResultsInvalid
from ackgap.model.event import Json
from ackgap.scenario.flags import scenario_from_flags
from ackgap.scenario.load import load_scenario
from ackgap.scenario.scenario import Limits, Scenario

__all__ = ["SOURCE_FILE", "Source"]

SOURCE_FILE = "source.json"


class Source:
    """Where a scenario comes from, in a form that a later replay can read again.

    Args:
        path: Of a scenario file or its folder.
        flags: Arguments of `scenario_from_flags`.
    """

    def __init__(self, *, path: Path | None = None, flags: Mapping[str, Json] | None = None) -> None:
        self._path = path
        self._flags = dict(flags or {})

    def scenario(self) -> Scenario:
        """Load the scenario.

        Raises:
            AckgapError: It cannot be read.
        """
        if self._path is not None:
            return load_scenario(self._path)
        flags = dict(self._flags)
        directory, life_s = flags.pop("directory", None), flags.pop("life_s", None)
        limits = Limits(life_s=float(life_s)) if life_s else None
        return scenario_from_flags(**flags, limits=limits, directory=Path(directory) if directory else None)

    def to_json(self, directory: Path) -> dict[str, Json]:
        """Return it for `source.json`; paths are written as seen from the directory of the results."""
        if self._path is not None:
            return {"path": os.path.relpath(self._path, directory)}
        home = self._flags.get("directory") or Path.cwd()
        return {"flags": {**self._flags, "directory": os.path.relpath(home, directory)}}

    @classmethod
    def read(cls, directory: Path) -> Source:
        """Read what a session wrote.

        Raises:
            ResultsInvalid: The directory has no such file, or it is damaged.
        """
        path = directory / SOURCE_FILE
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if "path" in document:
                return cls(path=directory / document["path"])
            flags = dict(document["flags"])
            return cls(flags={**flags, "directory": str((directory / flags["directory"]).resolve())})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultsInvalid(
                f"what was run is not known: {error}",
                where=str(path),
                next_step="name a directory that `ackgap run` wrote",
            ) from error
