"""What a well-formed scenario can still get wrong: names that point at nothing, programs that do not exist."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ackgap.errors import AckgapError, ScenarioInvalid
from ackgap.model.manner import Manner
from ackgap.scenario.container import container_mistakes
from ackgap.scenario.discover import profile_mistake
from ackgap.scenario.engine import engine_mistakes
from ackgap.scenario.environment import environment_mistakes
from ackgap.scenario.faults import fault_mistake
from ackgap.scenario.hosts import host_mistakes
from ackgap.scenario.release import release_mistakes
from ackgap.scenario.scenario import Axis, AxisValue, Scenario, Slice
from ackgap.scenario.services import service_mistakes
from ackgap.scenario.toxics import toxic_mistakes
from ackgap.scenario.upstream import upstream_mistakes
from ackgap.scenario.words import NAME_RULE, did_you_mean, dotted, is_name, placeholder_mistake, program_mistake

__all__ = ["Mistake", "check_scenario", "mistakes_of"]

Key = tuple[str | int, ...]
Mistake = tuple[Key, str, str]
"""Key, what is wrong with it, what to do next."""

_IN_CONTAINER = frozenset({"worker", "axes", "releases"})
"""Tables whose commands are looked for in the image, where a worker has one."""
_KEY_PROOFS = frozenset({"keys_absent", "keys_present", "keys_same", "keys_differ"})
_PAIR_PROOFS = frozenset({"before", "never_before"})


def check_scenario(scenario: Scenario, file: Path) -> None:
    """Refuse a scenario whose parts do not fit together.

    Raises:
        ScenarioInvalid: Names the first key that is wrong, and lists up to four more.
    """
    mistakes = list(mistakes_of(scenario))
    if not mistakes:
        return
    key, what, next_step = mistakes[0]
    lines = [what, *(f"Also wrong: {dotted(other)}: {text}" for other, text, _ in mistakes[1:5])]
    if len(mistakes) > 5:
        lines.append(f"And {len(mistakes) - 5} more.")
    raise ScenarioInvalid("\n".join(lines), where=f"{file}, key {dotted(key)}", next_step=next_step)


def mistakes_of(scenario: Scenario) -> Iterator[Mistake]:
    """Yield every mistake, in the order of the file."""
    if not is_name(scenario.name):
        yield ("name",), f"{scenario.name!r} cannot be a scenario's name.", f"Use {NAME_RULE}."
    yield from _environments(scenario)
    yield from _releases(scenario)
    yield from _worker(scenario)
    yield from _targets(scenario)
    yield from host_mistakes(scenario)
    yield from _beside(scenario)
    yield from _toxics(scenario)
    for axis in scenario.axes:
        yield from _axis(scenario, axis)
    yield from _engine(scenario)
    yield from _rules(scenario)
    yield from _checks(scenario)
    yield from _faults(scenario, ("faults",), scenario.faults)
    for part in scenario.slices:
        yield from _slice(scenario, part)
    yield from _known_gaps(scenario)


def _environments(scenario: Scenario) -> Iterator[Mistake]:
    for spec in scenario.environments:
        key: Key = ("environments", spec.name)
        if not is_name(spec.name):
            yield key, f"{spec.name!r} cannot be an environment's name.", f"Use {NAME_RULE}."
        for more, what, next_step in environment_mistakes(spec):
            yield (*key, *more), what, next_step


def _releases(scenario: Scenario) -> Iterator[Mistake]:
    for spec in scenario.releases:
        key: Key = ("releases", spec.name)
        if not is_name(spec.name):
            yield key, f"{spec.name!r} cannot be a release's name.", f"Use {NAME_RULE}."
        for more, what, next_step in release_mistakes(spec):
            yield (*key, *more), what, next_step
        yield from _environment_named(scenario, key, spec.environment)
        yield from _env(scenario, (*key, "env"), spec.env)
        for part in ("command", "resume_command"):
            yield from _command(scenario, (*key, part), getattr(spec, part), {**scenario.worker.env, **spec.env})


def _environment_named(scenario: Scenario, key: Key, name: str | None) -> Iterator[Mistake]:
    names = [spec.name for spec in scenario.environments]
    if name is not None and name not in names:
        yield (
            (*key, "environment"),
            f"There is no environment {name!r}; {did_you_mean(name, names)}.",
            f"Name one of this scenario's, or write [environments.{name}].",
        )


def _worker(scenario: Scenario) -> Iterator[Mistake]:
    worker = scenario.worker
    yield from _environment_named(scenario, ("worker",), worker.environment)
    yield from _container(scenario)
    directory = worker.directory
    if directory is not None and not directory.is_dir():
        yield (
            ("worker", "directory"),
            f"There is no directory {directory}.",
            "Name the folder that holds the worker, relative to the scenario file.",
        )
        return
    for key in ("command", "resume_command", "reset", "finished_when"):
        yield from _command(scenario, ("worker", key), getattr(worker, key), worker.env)
    yield from _env(scenario, ("worker", "env"), worker.env)
    if worker.in_doubt_when is not None:
        yield from _pattern(("worker", "in_doubt_when"), worker.in_doubt_when)
    for place, expression in enumerate(worker.mask):
        yield from _pattern(("worker", "mask", place), expression)


def _container(scenario: Scenario) -> Iterator[Mistake]:
    """Yield what a worker in a container gets wrong, or cannot have."""
    worker = scenario.worker
    if worker.container is None:
        for service in scenario.services:
            if service.kind == "compose":
                yield (
                    ("services", service.name, "compose"),
                    "Only a worker in a container reaches the servers of a Compose file.",
                    "Name the worker's image with worker.image, or build one with worker.build.",
                )
        for axis in scenario.axes:
            for value in axis.values:
                if value.hostname is not None:
                    yield (
                        ("axes", axis.name, "values", value.name, "hostname"),
                        "Only a container has a host name of its own.",
                        "Name the worker's image, or remove the key.",
                    )
        return
    for more, what, next_step in container_mistakes(worker.container):
        yield ("worker", *more), what, next_step
    elsewhere = (
        ("worker.environment", worker.environment, "Install its packages into the image."),
        ("worker.requires", worker.requires, "Install them into the image."),
        ("worker.allow_hosts", worker.allow_hosts, "Put a target in front of it: targets.NAME.upstream."),
        ("client", scenario.client, "Let a service start the work, or the worker itself."),
    )
    if worker.injector in ("preload", "trace"):
        yield (
            ("worker", "injector"),
            f"The {worker.injector} injector reaches into no container.",
            "Write 'python', or 'wire' for a worker in another language.",
        )
    for key, given, next_step in elsewhere:
        if given:
            yield tuple(key.split(".")), "A worker in a container cannot have this.", next_step
    for service in scenario.services:
        if service.kind != "compose":
            yield (
                ("services", service.name, "kind"),
                f"A container cannot reach a service of kind {service.kind!r}, which runs on this machine.",
                "Describe it in a Compose file: services.NAME.compose.",
            )


def _command(
    scenario: Scenario,
    key: Key,
    command: tuple[str, ...] | None,
    env: Mapping[str, str],
    directory: Path | None = None,
) -> Iterator[Mistake]:
    if command is None:
        return
    for word in command:
        yield from _placeholders(scenario, key, word)
    if scenario.worker.container is not None and key[-1] in ("command", "resume_command") and key[0] in _IN_CONTAINER:
        return
    if key[0] != "services" and _comes_with_environment(scenario, command[0]):
        return
    directory = directory or scenario.worker.directory or Path.cwd()
    if mistake := program_mistake(command, directory, dict(env)):
        yield (
            key,
            f"The command cannot be started: {mistake}.",
            "Correct the name, install the program, or give its path.",
        )


def _comes_with_environment(scenario: Scenario, program: str) -> bool:
    """Whether it shows only once the environments are made that there is such a program."""
    return bool(scenario.environments) and os.sep not in program


def _env(scenario: Scenario, key: Key, env: Mapping[str, str]) -> Iterator[Mistake]:
    for name, value in env.items():
        if not name or "=" in name or "\0" in name + value:
            yield (*key, name), f"{name!r} cannot be set in an environment.", "Rename the variable."
        else:
            yield from _placeholders(scenario, (*key, name), value)


def _placeholders(scenario: Scenario, key: Key, text: str) -> Iterator[Mistake]:
    services = {"worker": ("port",), **{service.name: service.parts for service in scenario.services}}
    if mistake := placeholder_mistake(text, (target.name for target in scenario.targets), services):
        yield (
            key,
            f"{mistake}.",
            (
                "Write {NAME.url}, {NAME.mcp}, {NAME.host} or {NAME.port} of a target of this scenario, or what its "
                "services have."
            ),
        )


def _beside(scenario: Scenario) -> Iterator[Mistake]:
    """Yield what is wrong with services, with the client, and with what is prepared."""
    for service in scenario.services:
        key: Key = ("services", service.name)
        if not is_name(service.name) or "." in service.name or service.name in ("worker", "cell"):
            yield key, f"{service.name!r} cannot be a service's name.", f"Use {NAME_RULE}, without a dot."
        if service.name in [target.name for target in scenario.targets]:
            yield key, f"A target and a service are both called {service.name!r}.", "Rename one."
        for name, what, next_step in service_mistakes(service):
            yield (*key, *name.split(".")), what, next_step
        for part in ("command", "reset", "digest"):
            yield from _command(scenario, (*key, part), getattr(service, part), service.env, Path.cwd())
        yield from _command(scenario, (*key, "ready_when", "command"), service.ready.command, service.env, Path.cwd())
        if service.ready.log is not None:
            yield from _pattern((*key, "ready_when", "log"), service.ready.log)
        yield from _env(scenario, (*key, "env"), service.env)
    for place, command in enumerate(scenario.prepare):
        yield from _command(scenario, ("prepare", "commands", place), command, scenario.worker.env)
    client = scenario.client
    if client is not None:
        env = {**scenario.worker.env, **client.env}
        yield from _command(scenario, ("client", "command"), client.command, env)
        yield from _env(scenario, ("client", "env"), client.env)
        if client.ready is not None:
            yield from _command(scenario, ("client", "ready_when", "command"), client.ready.command, env)
            if client.ready.log is not None:
                yield from _pattern(("client", "ready_when", "log"), client.ready.log)


def _toxics(scenario: Scenario) -> Iterator[Mistake]:
    links = [*(target.name for target in scenario.targets), *(service.name for service in scenario.services)]
    for toxic in scenario.toxics:
        key: Key = ("toxics", toxic.name)
        if not is_name(toxic.name):
            yield key, f"{toxic.name!r} cannot be a toxic's name.", f"Use {NAME_RULE}."
        for name, what, next_step in toxic_mistakes(toxic, links):
            yield (*key, name), what, next_step


def _engine(scenario: Scenario) -> Iterator[Mistake]:
    engine = scenario.engine
    if engine is None:
        return
    for key, what, next_step in engine_mistakes(engine):
        yield ("engine", key), what, next_step
    for key in ("store", "address"):
        if text := getattr(engine, key):
            yield from _placeholders(scenario, ("engine", key), text)


def _faults(scenario: Scenario, key: Key, manners: tuple[Manner, ...]) -> Iterator[Mistake]:
    for place, manner in enumerate(manners):
        if mistake := fault_mistake(scenario, manner):
            yield (*key, place), *mistake


def _pattern(key: Key, text: str) -> Iterator[Mistake]:
    try:
        re.compile(text)
    except re.error as error:
        yield (
            key,
            f"{text!r} is not a regular expression: {error}.",
            "Write one that Python's re module reads; in TOML, single quotes keep backslashes.",
        )


def _targets(scenario: Scenario) -> Iterator[Mistake]:
    for target in scenario.targets:
        key: Key = ("targets", target.name)
        if not is_name(target.name) or "." in target.name:
            yield key, f"{target.name!r} cannot be a target's name.", f"Use {NAME_RULE}, without a dot."
        yield from upstream_mistakes(target, key)
        try:
            mistake = profile_mistake(target.profile)
        except AckgapError as error:
            mistake = error.what
        if mistake:
            yield (*key, "profile"), f"{mistake.rstrip('.')}.", "`ackgap targets` lists the profiles shipped."


def _axis(scenario: Scenario, axis: Axis) -> Iterator[Mistake]:
    key: Key = ("axes", axis.name)
    if not is_name(axis.name):
        yield key, f"{axis.name!r} cannot be an axis' name.", f"Use {NAME_RULE}."
    if axis.name == "fault":
        yield key, "What is done at a crash point is called 'fault' in reports.", "Give the axis another name."
    for value in axis.values:
        value_key: Key = (*key, "values", value.name)
        if not is_name(value.name):
            yield value_key, f"{value.name!r} cannot be a value's name.", f"Use {NAME_RULE}."
        yield from _env(scenario, (*value_key, "env"), value.env)
        yield from _environment_named(scenario, value_key, value.environment)
        for part in ("command", "resume_command"):
            yield from _command(scenario, (*value_key, part), getattr(value, part), scenario.worker.env)
        names = [target.name for target in scenario.targets]
        for key_name, target in (
            *(("protections", target) for target in value.protections),
            *(("settings", target) for target in value.settings),
        ):
            if target not in names:
                yield (
                    (*value_key, key_name, target),
                    f"There is no target {target!r}; {did_you_mean(target, names)}.",
                    "Name a target of this scenario.",
                )
        yield from _proofs(scenario, value_key, value)


def _proofs(scenario: Scenario, value_key: Key, value: AxisValue) -> Iterator[Mistake]:
    for place, proof in enumerate(value.proofs):
        key: Key = (*value_key, "proofs", place)
        if proof.kind in _KEY_PROOFS:
            yield from _operation(scenario, (*key, "pattern"), proof.pattern)
        needs_other = proof.kind in _PAIR_PROOFS
        if needs_other and not proof.other:
            yield (
                (*key, "other"),
                f"A proof of kind {proof.kind!r} compares two points.",
                f"Set other to the glob that {proof.pattern!r} must (not) come before.",
            )
        if proof.other and not needs_other:
            yield (
                (*key, "other"),
                f"A proof of kind {proof.kind!r} has no other point.",
                "Remove it, or use before or never_before.",
            )


def _operation(scenario: Scenario, key: Key, operation: str) -> Iterator[Mistake]:
    names = [target.name for target in scenario.targets]
    target, dot, rest = operation.partition(".")
    if not dot or not rest:
        yield key, f"{operation!r} is not an operation.", "Write <target>.<operation>, such as tickets.create."
    elif target not in names:
        yield (
            key,
            f"{operation!r} begins with no target; {did_you_mean(target, names)}.",
            "Write <target>.<operation>, target one of this scenario's.",
        )


def _rules(scenario: Scenario) -> Iterator[Mistake]:
    for operation in scenario.declared_counts:
        yield from _operation(scenario, ("expect", operation), operation)
    for place, approval in enumerate(scenario.approvals):
        yield from _operation(scenario, ("approved", place, "operation"), approval.operation)
        yield from _operation(scenario, ("approved", place, "approved_by"), approval.approved_by)
    for place, order in enumerate(scenario.orders):
        yield from _operation(scenario, ("order", place, "before"), order.before)
        yield from _operation(scenario, ("order", place, "after"), order.after)


def _checks(scenario: Scenario) -> Iterator[Mistake]:
    seen: set[str] = set()
    for place, check in enumerate(scenario.checks):
        if check.name in seen:
            yield ("checks", place, "name"), f"Two checks are called {check.name!r}.", "Rename one."
        seen.add(check.name)
        yield from _command(scenario, ("checks", place, "command"), check.command, scenario.worker.env)


def _slice(scenario: Scenario, part: Slice) -> Iterator[Mistake]:
    key: Key = ("slices", part.name)
    if not (part.variants or part.points or part.faults or part.depth > 1 or part.orders):
        yield key, f"The slice {part.name!r} is the whole matrix.", "Give it variants, points, faults, depth or orders."
    yield from _faults(scenario, (*key, "faults"), part.faults)
    for place, partial in enumerate(part.variants):
        yield from _values(scenario, (*key, "variants", place), partial)


def _values(scenario: Scenario, key: Key, partial: Mapping[str, tuple[str, ...]]) -> Iterator[Mistake]:
    axes = {axis.name: [value.name for value in axis.values] for axis in scenario.axes}
    for axis, values in partial.items():
        if axis not in axes:
            yield (
                (*key, axis),
                f"There is no axis {axis!r}; {did_you_mean(axis, axes)}.",
                "Name an axis of this scenario.",
            )
            continue
        for value in values:
            if value not in axes[axis]:
                yield (
                    (*key, axis),
                    f"The axis {axis!r} has no value {value!r}; {did_you_mean(value, axes[axis])}.",
                    "Name a value of that axis.",
                )


def _known_gaps(scenario: Scenario) -> Iterator[Mistake]:
    for place, gap in enumerate(scenario.known_gaps):
        key: Key = ("known_gap", place)
        for name in ("reason", "owner"):
            if not getattr(gap, name).strip():
                yield (*key, name), f"A known gap has no {name}.", "Say why it is left open, and who closes it."
        if gap.cell and (gap.points or gap.only):
            yield (
                (*key, "cell"),
                "A known gap names its cells twice: by cell, and by point or only.",
                "Keep one: cell is a glob over whole names, point and only are their two halves.",
            )
        if not (gap.cell or gap.points or gap.only):
            yield key, "A known gap does not say which cells it covers.", "Give it cell, or point, or only."
        if gap.cell and "@" not in gap.cell:
            yield (
                (*key, "cell"),
                f"{gap.cell!r} is no cell: a cell is a row and a variant, with an @ between them.",
                f"Write point = {gap.cell!r}, or cell = '{gap.cell}@*'.",
            )
        yield from _values(scenario, (*key, "only"), gap.only)
