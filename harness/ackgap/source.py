"""Source: where a scenario comes from, in a form that a later replay can read again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from ackgap.errors import ResultsInvalid, ScenarioInvalid, UsageInvalid
from ackgap.files import FileUnfit, parse_json, read_text
from ackgap.model.event import Json
from ackgap.scenario.flags import scenario_from_flags
from ackgap.scenario.load import load_scenario
from ackgap.scenario.scenario import Limits, Scenario
from ackgap.scenario.upstream import UpstreamOptions, with_options
from ackgap.target.profiles.facts import chosen_settings
from ackgap.target.profiles.profile import load_profile
from ackgap.target.profiles.settings import settings_of
from ackgap.target.wire.payload import REDACTED, redacted
from ackgap.target.wire.redaction import Redactor, assignments
from ackgap.target.wire.secrets import looks_invented

__all__ = ["SOURCE_FILE", "Source"]

SOURCE_FILE = "source.json"
_SHORTEST_SECRET = 6


class Source:
    """Where a scenario comes from, in a form that a later replay can read again.

    Args:
        path: Of a scenario file or its folder.
        flags: Arguments of `scenario_from_flags`.
        upstream: What the command line says about real services behind targets.
        settings: What it sets of profiles: `NAME.SETTING=VALUE` each, or values by target and setting.
        home: What the files of settings are relative to; the current directory where it is None.
        engine_defaults: Shorten nothing of what an engine waits for.
    """

    def __init__(
        self,
        *,
        path: Path | None = None,
        flags: Mapping[str, Json] | None = None,
        upstream: UpstreamOptions | None = None,
        settings: Sequence[str] | Mapping[str, Mapping[str, Json]] = (),
        home: Path | None = None,
        engine_defaults: bool = False,
    ) -> None:
        self._path = path
        self._flags = dict(flags or {})
        self._upstream = upstream or UpstreamOptions()
        self._settings = settings
        self._home = home
        self._engine_defaults = engine_defaults

    def scenario(self) -> Scenario:
        """Load the scenario.

        Raises:
            AckgapError: It cannot be read.
        """
        scenario = with_options(self._as_written(), self._upstream)
        if self._settings and not isinstance(self._settings, Mapping):
            profiles = {target.name: load_profile(target.profile) for target in scenario.targets}
            # Kept as values: a replay must not depend on a file that may have changed since.
            self._settings = settings_of(self._settings, profiles, directory=self._home)
        if self._engine_defaults and scenario.engine is not None:
            scenario = replace(scenario, engine=replace(scenario.engine, hurry=False))
        if not isinstance(self._settings, Mapping):
            return scenario
        return _with_settings(scenario, {name: _given_again(values) for name, values in self._settings.items()})

    def _as_written(self) -> Scenario:
        if self._path is not None:
            return load_scenario(self._path)
        flags = {name: _given_again(value) for name, value in self._flags.items()}
        directory, life_s = flags.pop("directory", None), flags.pop("life_s", None)
        limits = Limits(life_s=float(life_s)) if life_s else None
        return scenario_from_flags(**flags, limits=limits, directory=Path(directory) if directory else None)

    def to_json(self, directory: Path) -> dict[str, Json]:
        """Return it for `source.json`; paths are written as seen from the directory of the results."""
        upstream = {name: value for name, value in asdict(self._upstream).items() if value and name != "record"}
        if self._upstream.replays:
            pairs = (text.partition("=") for text in self._upstream.replays)
            upstream["replays"] = [f"{name}={os.path.relpath(file, directory)}" for name, _, file in pairs]
        more: dict[str, Json] = {"upstream": upstream} if upstream else {}
        given = assignments(self._flags.get("env") or ())
        redactor = Redactor.of(os.environ, given, stand_in=_unless_invented)
        if self._settings:
            more["settings"] = redactor.value(self._settings)
        if self._engine_defaults:
            more["engine_defaults"] = True
        if self._path is not None:
            return {"path": os.path.relpath(self._path, directory), **more}
        home = self._flags.get("directory") or Path.cwd()
        return {"flags": {**redactor.value(self._flags), "directory": os.path.relpath(home, directory)}, **more}

    @classmethod
    def read(cls, directory: Path) -> Source:
        """Read what a session wrote.

        Raises:
            ResultsInvalid: The directory has no such file, or it is damaged.
        """
        path = directory / SOURCE_FILE
        try:
            document = parse_json(read_text(path))
            upstream = document.get("upstream", {})
            pairs = (text.partition("=") for text in upstream.get("replays", ()))
            options = UpstreamOptions(
                upstreams=tuple(upstream.get("upstreams", ())),
                replays=tuple(f"{name}={(directory / file).resolve()}" for name, _, file in pairs),
                allow_hosts=tuple(upstream.get("allow_hosts", ())),
            )
            settings = {name: dict(values) for name, values in document.get("settings", {}).items()}
            defaults = bool(document.get("engine_defaults", False))
            if "path" in document:
                path = directory / document["path"]
                return cls(path=path, upstream=options, settings=settings, engine_defaults=defaults)
            flags = dict(document["flags"])
            home = str((directory / flags["directory"]).resolve())
            flags["directory"] = home
            return cls(flags=flags, upstream=options, settings=settings, engine_defaults=defaults)
        except (OSError, FileUnfit, ValueError, KeyError, TypeError) as error:
            raise ResultsInvalid(
                f"what was run is not known: {'it ' if isinstance(error, FileUnfit) else ''}{error}",
                where=str(path),
                next_step="name a directory that `ackgap run` wrote",
            ) from error


def _unless_invented(secret: str) -> str:
    """Return what is written down of a secret; one that was made up for tests is given back to a replay as it was."""
    return secret if looks_invented(secret) else redacted(secret)


def _given_again(value: Json) -> Json:
    """Return what an option said, with secrets that were not written down taken from this environment.

    Raises:
        UsageInvalid: One is not there.
    """
    if isinstance(value, Mapping):
        return {name: _given_again(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_given_again(item) for item in value]
    if not isinstance(value, str) or REDACTED not in value:
        return value
    name, equals, _ = value.partition("=")
    variable = name if equals and name.isidentifier() else ""
    known = {redacted(text): text for text in os.environ.values() if len(text) >= _SHORTEST_SECRET}
    for stand_in, text in known.items():
        value = value.replace(stand_in, text)
    if REDACTED in value and variable in os.environ:
        return f"{variable}={os.environ[variable]}"
    if REDACTED in value:
        raise UsageInvalid(
            "A secret of the command line was not written down, so it has to be given again.",
            where=f"--env {variable}" if variable else f"--set or --worker, {value}",
            next_step=f"Set it in the environment: {variable or 'SECRET'}=... ackgap replay ...",
        )
    return value


def _with_settings(scenario: Scenario, settings: Mapping[str, Mapping[str, Json]]) -> Scenario:
    """Return a scenario with settings over those of its targets.

    Raises:
        UsageInvalid: A profile does not allow a value, or an axis is about that setting.
    """
    targets = []
    for target in scenario.targets:
        given = settings.get(target.name, {})
        for axis in scenario.axes:
            both = given.keys() & {key for value in axis.values for key in value.settings.get(target.name, {})}
            if both:
                name = min(both)
                raise UsageInvalid(
                    f"The axis {axis.name!r} of the scenario says what {target.name}.{name} is.",
                    where=f"--set {target.name}.{name}",
                    next_step=f"Choose with --only {axis.name}={'|'.join(value.name for value in axis.values)}.",
                )
        changed = replace(target, settings={**target.settings, **given})
        if given:
            try:
                chosen_settings(load_profile(target.profile), target.name, changed.settings)
            except ScenarioInvalid as error:
                where = error.where.replace(f"targets.{target.name}.settings.", f"--set {target.name}.")
                raise UsageInvalid(error.what, where=where, next_step=error.next_step) from None
        targets.append(changed)
    return replace(scenario, targets=tuple(targets))
