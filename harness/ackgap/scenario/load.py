"""From a `scenario.toml` to a Scenario; every mistake names the file, the key and the next step."""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ackgap.errors import ScenarioInvalid
from ackgap.files import FileUnfit, read_toml
from ackgap.model.expectation import ApprovalRule, OrderRule, Proof
from ackgap.model.manner import Manner
from ackgap.scenario.check import check_scenario
from ackgap.scenario.discover import is_shipped
from ackgap.scenario.engine import EngineSpec
from ackgap.scenario.parts import (
    client_of,
    environment_of,
    gap_of,
    release_of,
    service_of,
    target_of,
    toxic_of,
    worker_of,
)
from ackgap.scenario.scenario import (
    Axis,
    AxisValue,
    CheckSpec,
    HoldProof,
    Limits,
    Scenario,
    Slice,
)
from ackgap.scenario.schema import ScenarioFile, ValueFile
from ackgap.scenario.words import did_you_mean, dotted, with_python

__all__ = ["SCENARIO_FILE", "load_scenario"]

SCENARIO_FILE = "scenario.toml"

_DOCS = "docs/writing-a-scenario.md lists every key"
_MOST_MISTAKES = 5


def load_scenario(path: Path) -> Scenario:
    """Read a scenario.

    Args:
        path: Its `scenario.toml`, or the folder that holds one.

    Raises:
        ScenarioInvalid: The file cannot be read, or something in it is wrong; the message names the key.
    """
    file = path / SCENARIO_FILE if path.is_dir() else path
    raw = _read_toml(file)
    try:
        written = ScenarioFile.model_validate(raw)
    except ValidationError as error:
        raise _invalid(file, error) from None
    scenario = _scenario(written, file)
    check_scenario(scenario, file)
    return scenario


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return read_toml(file)
    except FileNotFoundError:
        raise ScenarioInvalid(
            "There is no scenario here.",
            where=str(file),
            next_step=f"Give a {SCENARIO_FILE} or its folder; `ackgap list` shows the shipped ones.",
        ) from None
    except OSError as error:
        raise ScenarioInvalid(
            f"The scenario cannot be read: {error.strerror or error}.",
            where=str(file),
            next_step="Make it a readable UTF-8 file.",
        ) from None
    except FileUnfit as error:
        raise ScenarioInvalid(
            f"The scenario {error}.", where=error.where(file), next_step="Correct that place."
        ) from None


def _scenario(written: ScenarioFile, file: Path) -> Scenario:
    folder = file.parent.absolute()
    own_python = is_shipped(file)
    # Which interpreter a plain `python` is depends on the variant where there are environments.
    settled = None if written.environments else own_python
    return Scenario(
        name=written.name,
        title=written.title,
        about=written.about,
        worker=worker_of(written.worker, folder, own_python=settled),
        targets=tuple(target_of(name, target, folder) for name, target in written.targets.items()),
        services=tuple(
            service_of(name, service, folder, own_python=own_python) for name, service in written.services.items()
        ),
        toxics=tuple(toxic_of(name, toxic) for name, toxic in written.toxics.items()),
        prepare=tuple(
            with_python(command, own_python=settled)
            for command in (written.prepare.commands if written.prepare else ())
        ),
        client=client_of(written.client, own_python=settled) if written.client else None,
        engine=EngineSpec(**written.engine.model_dump()) if written.engine else None,
        axes=tuple(
            Axis(
                name=name,
                title=axis.title or name,
                about=axis.about,
                values=tuple(
                    _axis_value(name, value_name, value, own_python=settled)
                    for value_name, value in axis.values.items()
                ),
            )
            for name, axis in written.axes.items()
        ),
        declared_counts=dict(written.expect),
        approvals=tuple(
            ApprovalRule(
                operation=rule.operation,
                field=rule.field,
                approved_by=rule.approved_by,
                artifact=rule.artifact,
                join=tuple((pair[0], pair[1]) for pair in rule.join),
            )
            for rule in written.approved
        ),
        orders=tuple(OrderRule(before=rule.before, after=rule.after) for rule in written.order),
        checks=tuple(
            CheckSpec(name=check.name, command=with_python(check.command, own_python=settled), verdict=check.verdict)
            for check in written.checks
        ),
        limits=Limits(**written.limits.model_dump(exclude_none=True)),
        slices=tuple(
            Slice(
                name=name,
                variants=tuple(dict(partial) for partial in part.variants),
                points=tuple(part.points),
                faults=tuple(map(Manner.parse, part.faults)),
                depth=part.depth,
                orders=part.orders,
            )
            for name, part in written.slices.items()
        ),
        faults=tuple(map(Manner.parse, written.faults)),
        known_gaps=tuple(gap_of(gap) for gap in written.known_gap),
        environments=tuple(environment_of(name, table, folder) for name, table in written.environments.items()),
        releases=tuple(release_of(name, table, folder, own_python=settled) for name, table in written.releases.items()),
        own_python=own_python,
        source=str(file),
    )


def _axis_value(axis: str, name: str, written: ValueFile, *, own_python: bool | None) -> AxisValue:
    return AxisValue(
        name=name,
        about=written.about,
        env=dict(written.env),
        command=written.command and with_python(written.command, own_python=own_python),
        resume_command=written.resume_command and with_python(written.resume_command, own_python=own_python),
        protections=dict(written.protections),
        settings={target: dict(settings) for target, settings in written.settings.items()},
        environment=written.environment,
        hostname=written.hostname,
        proofs=tuple(Proof(axis=axis, value=name, **proof.model_dump()) for proof in written.proofs),
        hold_proof=HoldProof(**written.hold_proof.model_dump()) if written.hold_proof else None,
    )


def _invalid(file: Path, error: ValidationError) -> ScenarioInvalid:
    # A misspelt key is why another one is missing, so it is told first.
    found = sorted(error.errors(include_url=False), key=lambda item: item["type"] != "extra_forbidden")
    mistakes = [_mistake(item["type"], item["loc"], item["msg"]) for item in found]
    first_key, first_what = mistakes[0]
    lines = [f"{first_what[0].upper()}{first_what[1:]}."]
    lines += [f"Also wrong: {key}: {what}." for key, what in mistakes[1:_MOST_MISTAKES]]
    if len(mistakes) > _MOST_MISTAKES:
        lines.append(f"And {len(mistakes) - _MOST_MISTAKES} more.")
    where = f"{file}, key {first_key}"
    return ScenarioInvalid("\n".join(lines), where=where, next_step=f"Correct that key; {_DOCS}.")


def _mistake(kind: str, location: Sequence[str | int], message: str) -> tuple[str, str]:
    key = dotted(location)
    if kind == "extra_forbidden":
        return key, f"unknown key {location[-1]!r}; {did_you_mean(str(location[-1]), _keys_beside(location))}"
    if kind == "missing":
        return key, f"the key {location[-1]!r} is missing"
    if kind == "too_short" and len(location) == 1:
        return key, f"there is nothing in [{key}]; a scenario needs at least one"
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    return key, f"{location[-1]!r} {text[0].lower()}{text[1:]}"


def _keys_beside(location: Iterable[str | int]) -> list[str]:
    """Return the keys that the table at `location[:-1]` may have."""
    model: Any = ScenarioFile
    for part in list(location)[:-1]:
        if isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(str(part))
            model = field.annotation if field else None
        else:  # the name in a table of tables, or the place in a list of tables
            model = get_args(model)[-1] if get_args(model) else None
        if get_origin(model) in (Union, types.UnionType):
            model = next(option for option in get_args(model) if option is not type(None))
    is_table = isinstance(model, type) and issubclass(model, BaseModel)
    return list(model.model_fields) if is_table else []
