"""Settings of profiles as a command line gives them: `NAME.SETTING=VALUE`, each mistake named by its option."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from ackgap.errors import UsageInvalid
from ackgap.model.event import Json
from ackgap.scenario.words import did_you_mean
from ackgap.target.profiles.profile import Profile

__all__ = ["settings_of"]


def settings_of(
    texts: Sequence[str], profiles: Mapping[str, Profile], *, directory: Path | None = None
) -> dict[str, dict[str, Json]]:
    """Return the settings that texts give, by target and by name.

    Args:
        texts: `NAME.SETTING=VALUE`. The value is JSON where it can be read as such, `@FILE` takes it from a file of
            JSON; a setting that is text takes it as it is.
        profiles: By the name of their target.
        directory: What the path of a file is relative to; the current one where it is None.

    Raises:
        UsageInvalid: A text has another form, names no target or no setting of its profile, or its file cannot be read.
    """
    values: dict[str, dict[str, Json]] = {}
    for text in texts:
        key, equals, written = text.partition("=")
        # Names of targets may have dots, names of settings have none.
        name, dot, setting = key.rpartition(".")
        where = f"--set {text}"
        if not equals or not dot:
            raise UsageInvalid(
                f"{text!r} is not of the form NAME.SETTING=VALUE.",
                where="--set",
                next_step="Write --set NAME.SETTING=VALUE, such as approval.after_s=3600.",
            )
        if name not in profiles:
            raise UsageInvalid(
                f"There is no target {name!r}; {did_you_mean(name, profiles)}.",
                where=where,
                next_step="Write NAME.SETTING=VALUE with the name of a target.",
            )
        profile = profiles[name]
        if setting not in profile.settings:
            raise UsageInvalid(
                f"The profile {profile.name!r} has no setting {setting!r}; {did_you_mean(setting, profile.settings)}.",
                where=where,
                next_step=f"`ackgap targets {profile.name}` lists what can be set.",
            )
        is_text = isinstance(profile.settings[setting].default, str)
        value = written if is_text else _value(written, where, directory or Path.cwd())
        values.setdefault(name, {})[setting] = value
    return values


def _value(written: str, where: str, directory: Path) -> Json:
    if not written.startswith("@"):
        try:
            return json.loads(written)
        except ValueError:
            return written
    try:
        return json.loads((directory / Path(written[1:]).expanduser()).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageInvalid(
            f"The value cannot be read from {written[1:]!r}: {error}.",
            where=where,
            next_step="Name a file of JSON after the @.",
        ) from error
