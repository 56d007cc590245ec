"""Facts: what a scenario chooses of a profile, and what a judge may know of its operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from ackgap.errors import ScenarioInvalid
from ackgap.model.event import Json
from ackgap.model.expectation import OperationFacts
from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.profile import Profile, learned_operation
from ackgap.target.profiles.rules import Protection
from ackgap.target.wire.paths import segments_of

__all__ = ["chosen_protection", "chosen_settings", "facts", "is_effectful", "learned_facts"]


def chosen_protection(profile: Profile, target: str, name: str | None) -> Protection:
    """Return one of the profile's protections; its default where none is named.

    Raises:
        ScenarioInvalid: It has no such protection.
    """
    wanted = name or profile.default_protection
    if wanted in profile.protections:
        return profile.protections[wanted]
    raise ScenarioInvalid(
        f"The profile {profile.name!r} has no protection {wanted!r}.",
        where=f"targets.{target}.protection",
        next_step=f"Write one of {', '.join(profile.protections)}.",
    )


def chosen_settings(profile: Profile, target: str, settings: Mapping[str, Json]) -> dict[str, Json]:
    """Return a scenario's settings over the profile's defaults.

    Raises:
        ScenarioInvalid: The profile has no such setting, or not with that value.
    """
    for name, value in settings.items():
        setting = profile.settings.get(name)
        if setting is None:
            known = ", ".join(profile.settings) or "nothing"
            raise ScenarioInvalid(
                f"The profile {profile.name!r} has no setting {name!r}.",
                where=f"targets.{target}.settings.{name}",
                next_step=f"It lets a scenario set {known}.",
            )
        if setting.choices and value not in setting.choices:
            raise ScenarioInvalid(
                f"{value!r} is not a value of the setting {name!r} of profile {profile.name!r}.",
                where=f"targets.{target}.settings.{name}",
                next_step=f"Write one of {', '.join(map(str, setting.choices))}.",
            )
        if not _same_shape(setting.default, value):
            raise ScenarioInvalid(
                f"The setting {name!r} of profile {profile.name!r} is {_shape(setting.default)}, not {_shape(value)}.",
                where=f"targets.{target}.settings.{name}",
                next_step=setting.about,
            )
    chosen = {name: setting.default for name, setting in profile.settings.items()} | dict(settings)
    for name, what, next_step in _script_mistakes(profile, chosen):
        raise ScenarioInvalid(what, where=f"targets.{target}.settings.{name}", next_step=next_step)
    return chosen


def _script_mistakes(profile: Profile, settings: Mapping[str, Json]) -> Iterator[tuple[str, str, str]]:
    # Imported late: the scripted behaviours are built on the profile's own types.
    from ackgap.target.lookup.search import results_mistake
    from ackgap.target.models.script import settings_mistake

    kinds = {operation.does for operation in profile.operations}
    found = []
    if kinds & {"chat", "responses", "messages"} and (mistake := settings_mistake(settings)):
        found.append(mistake)
    if "search" in kinds and (place_and_nature := results_mistake(settings.get("results") or [])):
        found.append(("results", *place_and_nature))
    for name, place, what in found:
        yield f"{name}{place}", what, profile.settings[name].about.strip() if name in profile.settings else ""


def is_effectful(operation: Operation, full_name: str, reads: tuple[str, ...]) -> bool:
    """Whether an operation changes the outside world, given the globs that a scenario declares to be reads."""
    return operation.effect and not any(fnmatchcase(full_name, glob) for glob in reads)


def facts(
    profile: Profile,
    target_name: str,
    protection: str | None,
    reads: tuple[str, ...] = (),
    settings: Mapping[str, Json] | None = None,
) -> dict[str, OperationFacts]:
    """Return what is known of each operation of a target, by `<target>.<operation>`.

    A profile with `described = false` knows no operation beforehand; see `learned_facts`.

    Raises:
        ScenarioInvalid: The profile has no such protection or setting.
    """
    values = chosen_settings(profile, target_name, settings or {})
    chosen = chosen_protection(profile, target_name, protection)
    return {
        f"{target_name}.{operation.name}": _facts_of(profile, operation, target_name, chosen, reads, values)
        for operation in profile.operations
    }


def learned_facts(
    profile: Profile, target_name: str, protection: str | None, reads: tuple[str, ...], operation_name: str
) -> OperationFacts:
    """Return the facts of an operation that was seen at a target which nobody described, by its full name.

    Raises:
        ScenarioInvalid: The profile has no such protection.
    """
    chosen = chosen_protection(profile, target_name, protection)
    method, _, path = operation_name.removeprefix(f"{target_name}.").partition("/")
    return _facts_of(profile, learned_operation(method, segments_of("/" + path)), target_name, chosen, reads, {})


def _facts_of(
    profile: Profile,
    operation: Operation,
    target: str,
    chosen: Protection,
    reads: tuple[str, ...],
    settings: Mapping[str, Json],
) -> OperationFacts:
    name = f"{target}.{operation.name}"
    effectful = is_effectful(operation, name, reads)
    rule = chosen.key_rule_for(operation)
    key_rule = None if rule is None or rule.ignored else rule
    offered = tuple(
        other.name
        for other in profile.protections.values()
        if other.name != chosen.name and other.guards(operation) and not other.other_reading
    )
    return OperationFacts(
        name=name,
        noun=operation.noun,
        effectful=effectful,
        paid=operation.paid,
        price=float(settings.get("price", operation.price)) if operation.paid else 0.0,
        currency=profile.currency if operation.paid else "",
        identity=operation.identity,
        identity_weak=operation.identity_weak,
        protection=chosen.name,
        honours_keys=key_rule is not None,
        honours_natural_key=bool(chosen.natural_rules_for(operation) or chosen.conditions_for(operation)),
        key_window_s=key_rule.window_s if key_rule else None,
        # What a service that nobody described would offer is not known.
        could_protect=offered if profile.described and effectful else (),
        unknown=tuple(f"{axis}: {served}" for axis, served in chosen.unknown.items()) if effectful else (),
        overwrites=operation.overwrites,
    )


def _shape(value: Json) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list | tuple):
        return "a list"
    return "a table" if isinstance(value, Mapping) else "something else"


def _same_shape(default: Json, value: Json) -> bool:
    return default is None or _shape(default) == _shape(value)
