"""The text of a first scenario, with the reason for each line, and of a first test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from ackgap.report.plain import plain
from ackgap.starting.catalogue import MODELS
from ackgap.starting.draft import Draft, DraftTarget, Service

__all__ = ["first_test", "scenario_text"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def scenario_text(draft: Draft) -> str:
    """Return the `scenario.toml` of a draft."""
    return "\n".join(_lines(draft)).rstrip() + "\n"


def _lines(draft: Draft) -> Iterator[str]:
    yield "# Written by `ackgap init` from what the sources say; nothing was run. It is yours: change what is wrong."
    yield "# docs/writing-a-scenario.md of ackgap explains every key. `ackgap run .` runs it."
    yield f"name = {_toml(draft.name)}"
    yield f"title = {_toml(draft.title)}"
    yield '# What is done at each crash point. Others: lose (an answer gets lost), twice, fail, "kill,down=72h".'
    yield 'faults = ["kill"]'
    yield ""
    yield from _worker(draft)
    yield "# The fake services. `ackgap targets` lists those that treat repeats as a real service does. One that is not"
    yield "# among them can be described in a file (docs/writing-a-profile.md), or is `any`: what is no GET counts."
    yield '# What would a key change? protection = "idempotency-key". What only reads? reads = ["*search*"].'
    yield ""
    for target in draft.targets:
        yield from _target(target)
    for service in draft.services:
        yield from _service(service)
    yield from _engine(draft)
    yield from _client(draft)
    yield from _prepare(draft)
    yield "# Two runs without a fault show what is expected. Where a number is not right, say it:"
    yield "# [expect]"
    acting = next((target for target in draft.targets if target.profile not in MODELS), draft.targets[0])
    yield f'# "{acting.name}.OPERATION" = 2'


def _worker(draft: Draft) -> Iterator[str]:
    yield "[worker]"
    yield from _comment(f"What starts the worker, from this directory ({draft.command_why}).")
    yield f"command = {_toml(draft.command)}"
    yield "# Each run has its own copy of this directory. Name a smaller one if it holds more than the worker needs."
    yield 'directory = "."'
    if draft.state:
        yield from _comment(f"Its state, as far as the sources name it: {', '.join(draft.state)}.")
    yield "# Everything in the directory but *.log counts as state. Name the files if there are caches among them:"
    yield f"# store = {_toml(_store(draft))}"
    if draft.outside:
        yield "# State outside of the directory; it is put back before each run."
        yield f"external_state = {_toml(draft.outside)}"
    if draft.requires:
        yield "# What the interpreter has to have: a run says at once if it does not."
        yield f"requires = {_toml(draft.requires)}"
        if draft.requires_hint:
            yield f"requires_hint = {_toml(draft.requires_hint)}"
    yield "# Workers that stop and ask a human whether something was done: what they print then."
    yield '# in_doubt_when = "UNKNOWN OUTCOME"'
    yield ""
    yield "[worker.env]"
    for setting in draft.settings:
        yield f"{_key(setting.name)} = {_toml(setting.value)} # {plain(setting.why)}"
    yield ""


def _store(draft: Draft) -> list[str]:
    names = draft.state or ("state.db",)
    return [
        part for name in names for part in ((name, f"{name}-wal") if name.endswith((".db", ".sqlite")) else (name,))
    ]


def _target(target: DraftTarget) -> Iterator[str]:
    for sentence in target.why:
        yield from _comment(sentence)
    if target.profile != "any":
        yield from _comment(f"`ackgap targets {target.profile}` shows its operations, protections and settings.")
    yield f"[targets.{_key(target.name)}]"
    yield f"profile = {_toml(target.profile)}"
    if target.hosts:
        yield f"hosts = {_toml(list(target.hosts))} # nothing tells the program another address: calls to it come here"
    yield ""
    for entry in target.script:
        yield from _entry(f"targets.{_key(target.name)}.settings.script", entry)


def _entry(name: str, entry: Mapping[str, object]) -> Iterator[str]:
    """Yield what a model says in one turn; arguments of a call stand below each other, as they are compared."""
    yield f"[[{name}]]"
    call = entry.get("call")
    yield from _table({key: value for key, value in entry.items() if key != "call"})
    if isinstance(call, Mapping):
        yield f"[{name}.call]"
        yield f"tool = {_toml(call['tool'])}"
        yield "arguments = ["
        yield from (f"  {_toml(arguments)}," for arguments in call["arguments"])
        yield "]"
    yield ""


def _service(service: Service) -> Iterator[str]:
    yield from _comment(service.why)
    yield f"[services.{_key(service.name)}]"
    yield from _table(service.keys)
    yield ""


def _engine(draft: Draft) -> Iterator[str]:
    if draft.engine:
        yield "# The engine is asked how far the work is: a cell that is stuck then says why."
        yield "[engine]"
        yield from _table(draft.engine)
        yield ""


def _client(draft: Draft) -> Iterator[str]:
    if draft.client is not None:
        yield "# What hands over the work and waits for it. No fault strikes it; the work is done when it exits with 0."
        yield "[client]"
        yield f"command = {_toml(draft.client)}"
        yield ""
    elif draft.server:
        yield "# The worker waits to be asked. Name what asks it, and waits until the work is done:"
        yield "# [client]"
        yield '# command = "python ask.py"'
        yield ""


def _prepare(draft: Draft) -> Iterator[str]:
    if draft.stale:
        yield "# State of an earlier run lies here. It is removed from each copy, else every run would go on from it."
        yield "[prepare]"
        command = ["rm", "-f", *draft.stale]
        yield f"commands = [{_toml(command)}]"
        yield ""


def _table(table: Mapping[str, object]) -> Iterator[str]:
    for key, value in table.items():
        yield f"{_key(key)} = {_toml(value)}"


def _comment(text: str) -> Iterator[str]:
    yield f"# {plain(text)}"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name)


def _toml(value: object) -> str:
    """Return a value as TOML has it; its texts are those of JSON, which escapes what no file should hold."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(key))} = {_toml(item)}" for key, item in value.items()) + " }"
    return str(value)


_HEAD = '''"""The agent acts exactly once. Written by `ackgap init`, and yours now.

{about}
"""

from pathlib import Path

import pytest

SCENARIO = Path(__file__).parent / "{scenario}"


@pytest.mark.crash_matrix(str(SCENARIO.resolve()){more})
def {name}(crash_cell):
    """A failure names the point, what happened twice, who could have prevented it, and how to see it again."""
    crash_cell.assert_exactly_once()
'''


def first_test(scenario: str, *, collected: bool) -> str:
    """Return the text of a first test.

    Args:
        scenario: Path of the scenario, seen from the folder of the test.
        collected: Whether pytest finds the scenario by itself, so that each of its cells is a test already.
    """
    if collected:
        return _HEAD.format(
            about="pytest runs the kills of scenario.toml by itself, each cell a test. This is another column of the "
            "matrix:\nthe service acts, and its answer is lost on the way back.",
            scenario=scenario,
            more=', faults=["lose"]',
            name="test_a_lost_answer_is_not_acted_on_twice",
        )
    return _HEAD.format(
        about="The worker is killed at each point where the outside world or its own state changes: a test each.",
        scenario=scenario,
        more="",
        name="test_each_action_happens_exactly_once_wherever_the_worker_dies",
    )
