"""From the options of `ackgap run --worker ...` to a Scenario, for any unmodified worker and no file at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from pydantic import ValidationError

from ackgap.errors import UsageInvalid
from ackgap.scenario.check import Mistake, mistakes_of
from ackgap.scenario.hosts import hosts_of_options
from ackgap.scenario.parts import toxic_of
from ackgap.scenario.scenario import Limits, Scenario, TargetSpec, WorkerSpec
from ackgap.scenario.schema import ToxicFile, split_command
from ackgap.scenario.toxics import ToxicSpec
from ackgap.scenario.words import did_you_mean, with_python

__all__ = ["name_of_command", "scenario_from_flags"]

_DIGITS = 30
"""So many and more are no number that anybody means."""
_OPTIONS = {
    "command": "--worker",
    "resume_command": "--resume-command",
    "reset": "--reset",
    "finished_when": "--finished-when",
    "in_doubt_when": "--in-doubt-when",
    "env": "--env",
    "directory": "the current directory",
}


class _LookedInto(TypedDict):
    injector: str
    python_injector: bool


def scenario_from_flags(
    *,
    worker: str,
    targets: Sequence[str],
    env: Sequence[str] = (),
    resume_command: str | None = None,
    state: Sequence[str] = (),
    reset: str | None = None,
    finished_when: str | None = None,
    in_doubt_when: str | None = None,
    allow_hosts: Sequence[str] = (),
    reads: Sequence[str] = (),
    expects: Sequence[str] = (),
    protections: Sequence[str] = (),
    hosts: Sequence[str] = (),
    toxics: Sequence[str] = (),
    injector: str | None = None,
    limits: Limits | None = None,
    directory: Path | None = None,
) -> Scenario:
    """Build the scenario of a command line.

    Args:
        worker: The command; the user's own PATH decides what its `python` is.
        targets: `NAME=PROFILE`, at least one; a profile that ends in `.toml` is a file.
        env: `KEY=VALUE`, with `{NAME.url}` in the value.
        resume_command: Command of later lives.
        state: Paths of durable state. Below the directory it is all that counts as such; elsewhere it is restored.
        reset: Command that resets what ackgap cannot see.
        finished_when: Command that exits 0 once the work is finished.
        in_doubt_when: Regular expression over what the worker prints.
        allow_hosts: Hosts that the worker may reach.
        reads: Globs of operations without an effect, over `<target>.<operation>`.
        expects: `OPERATION=N`, the declared count of each identity.
        protections: `NAME=PROTECTION`, how a target treats repeats.
        hosts: `HOST=NAME`, hosts that a target stands for.
        toxics: `NAME=TARGET:TYPE,KEY=N`, faults of the network.
        injector: What looks into the worker; `auto` where it is None.
        limits: How long to wait.
        directory: Where the worker lives; the current directory where it is None.

    Raises:
        UsageInvalid: Names the option that is wrong.
    """
    lists = {"--target": targets, "--env": env, "--state": state, "--allow-host": allow_hosts, "--read": reads}
    commands = {"--worker": worker, "--resume-command": resume_command, "--reset": reset}
    commands |= {"--finished-when": finished_when, "--in-doubt-when": in_doubt_when}
    lists |= {"--expect": expects, "--protection": protections, "--host": hosts, "--toxic": toxics}
    _refuse_nul({**lists, **{option: [text] for option, text in commands.items()}})
    command, home = _command(worker, "--worker"), (directory or Path.cwd()).absolute()
    inside, outside = _states(state, home)
    scenario = Scenario(
        name=name_of_command(command),
        title=worker,
        worker=WorkerSpec(
            command=command,
            resume_command=_optional_command(resume_command, "--resume-command"),
            directory=home,
            **_looked_into(injector),
            env=dict(_pair(text, "--env", "KEY=VALUE, such as TICKETS_URL={tickets.url}") for text in env),
            store=inside,
            external_state=outside,
            reset=_optional_command(reset, "--reset"),
            finished_when=_optional_command(finished_when, "--finished-when"),
            in_doubt_when=in_doubt_when,
            allow_hosts=tuple(allow_hosts),
        ),
        targets=_with_hosts(_protected(_targets(targets, home, tuple(reads)), protections), hosts),
        toxics=tuple(map(_toxic, toxics)),
        declared_counts=dict(_count(text) for text in expects),
        limits=limits or Limits(),
        source=f"--worker {worker!r}",
    )
    return _checked(scenario)


def _looked_into(injector: str | None) -> _LookedInto:
    return {"injector": injector or "auto", "python_injector": injector in (None, "auto", "python")}


def _checked(scenario: Scenario) -> Scenario:
    for mistake in mistakes_of(scenario):
        raise _usage(mistake)
    return scenario


def _refuse_nul(texts: Mapping[str, Sequence[str | None]]) -> None:
    for option, values in texts.items():
        for text in values:
            if text is not None and "\0" in text:
                raise UsageInvalid(
                    f"{text!r} has a NUL character, which no command, variable or path can have.",
                    where=option,
                    next_step="Leave it out.",
                )


def name_of_command(command: Sequence[str]) -> str:
    """Return a short name for a worker, for ids and folders: `python -m my.agent --fast` is `my-agent`.

    The interpreter and its options are passed over; what is left first is the program.
    """
    words = list(command)
    stem = re.sub(r"[0-9.]+$", "", Path(words[0]).name)
    if stem in {"python", "node", "bash", "sh", "ruby", "deno", "bun", "uv", "npx", "perl", "java"} and len(words) > 1:
        rest = [word for word in words[1:] if not word.startswith("-") and word != "run"]
        if rest:
            words = rest
    last = words[0].rstrip("/").rpartition("/")[2]
    plain = last.removesuffix(Path(last).suffix) if Path(last).suffix in {".py", ".mjs", ".js", ".ts", ".sh"} else last
    return re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-") or "worker"


def _command(text: str, option: str) -> tuple[str, ...]:
    try:
        return with_python(split_command(text), own_python=False)
    except ValueError as error:
        raise UsageInvalid(f"The command {error}.", where=option, next_step="Quote it as in a shell.") from None


def _optional_command(text: str | None, option: str) -> tuple[str, ...] | None:
    return None if text is None else _command(text, option)


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageInvalid(f"{text!r} is not of the form {form}.", where=option, next_step=f"Write {option} {form}.")
    return name, value


def _count(text: str) -> tuple[str, int]:
    operation, _, number = text.rpartition("=")
    if not operation or not (number.isascii() and number.isdigit()):
        raise UsageInvalid(
            f"{text!r} is not of the form OPERATION=N.",
            where="--expect",
            next_step="Write --expect OPERATION=N, such as tickets.POST/tickets=2.",
        )
    return operation, int(number)


def _toxic(text: str) -> ToxicSpec:
    form = "NAME=TARGET:TYPE, such as cut=tickets:limit_data,bytes=0"
    name, rest = _pair(text, "--toxic", form)
    where, *attributes = rest.split(",")
    link, _, kind = where.partition(":")
    values: dict[str, object] = {}
    for key, value in (_pair(each, "--toxic", form) for each in attributes):
        values[key] = int(value) if value.isascii() and value.isdigit() and len(value) < _DIGITS else value
    try:
        return toxic_of(name, ToxicFile.model_validate({**values, "link": link, "type": kind}))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageInvalid(
            f"{text!r} is no toxic: {first['loc'][-1]}: {first['msg']}.", where="--toxic", next_step=f"Write {form}."
        ) from None


def _targets(texts: Sequence[str], home: Path, reads: tuple[str, ...]) -> tuple[TargetSpec, ...]:
    if not texts:
        raise UsageInvalid(
            "No target is given, so nothing would be counted.",
            where="--target",
            next_step="Write --target NAME=PROFILE, such as tickets=any, once for each service of the worker.",
        )
    found: dict[str, TargetSpec] = {}
    for text in texts:
        name, profile = _pair(text, "--target", "NAME=PROFILE, such as tickets=any")
        if not profile:
            raise UsageInvalid(f"{text!r} names no profile.", where="--target", next_step="Write tickets=any, for one.")
        if name in found:
            raise UsageInvalid(f"Two targets are called {name!r}.", where="--target", next_step="Rename one.")
        if profile.endswith(".toml"):
            profile = str(home / Path(profile).expanduser())
        found[name] = TargetSpec(name=name, profile=profile, reads=reads)
    return tuple(found.values())


def _protected(targets: tuple[TargetSpec, ...], texts: Sequence[str]) -> tuple[TargetSpec, ...]:
    chosen = dict(_pair(text, "--protection", "NAME=PROTECTION, such as tickets=idempotency-key") for text in texts)
    names = {target.name for target in targets}
    for name in chosen:
        if name not in names:
            raise UsageInvalid(
                f"There is no target {name!r}; {did_you_mean(name, names)}.",
                where="--protection",
                next_step="Name a target as in --target NAME=PROFILE.",
            )
    return tuple(replace(target, protection=chosen.get(target.name)) for target in targets)


def _with_hosts(targets: tuple[TargetSpec, ...], texts: Sequence[str]) -> tuple[TargetSpec, ...]:
    found = hosts_of_options(texts, [target.name for target in targets])
    return tuple(replace(target, hosts=found.get(target.name, ())) for target in targets)


def _states(texts: Sequence[str], home: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    inside: list[str] = []
    outside: list[Path] = []
    for text in texts:
        path = home / Path(text).expanduser()
        if path == home:
            continue  # everything below it is the durable store anyway
        if path.is_relative_to(home):
            relative = path.relative_to(home).as_posix()
            inside += [relative, f"{relative}/**"] if path.is_dir() else [relative]
        else:
            outside.append(path)
    return tuple(inside), tuple(outside)


def _usage(mistake: Mistake) -> UsageInvalid:
    key, what, next_step = mistake
    if key[0] == "targets" and "hosts" in key:
        option = "--host"
    elif key[0] == "targets":
        option = "--target"
    elif key[0] == "expect":
        option = "--expect"
    elif key[0] == "toxics":
        option = "--toxic"
    elif key[0] == "worker":
        option = _OPTIONS.get(str(key[1]), "--worker")
    else:
        option = "--worker"
    return UsageInvalid(what, where=option, next_step=next_step)
