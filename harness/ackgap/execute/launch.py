"""Launch: with which command and environment a life starts, and the user's own commands beside it."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from ackgap.errors import HarnessFailed, ScenarioInvalid
from ackgap.execute import workspace
from ackgap.execute.forwarder import knock
from ackgap.execute.nursery import NurseryUnfit, interpreter_of
from ackgap.execute.order import Order, Surroundings
from ackgap.execute.process import TOKEN_VARIABLE, WorkerProcess
from ackgap.scenario.release import ReleaseSpec
from ackgap.scenario.scenario import AxisValue
from ackgap.target.mcp.server import MCP_PATH
from ackgap.target.wire.redaction import Redactor, tail_of

__all__ = ["COMMAND_LIMIT_S", "Launch"]

COMMAND_LIMIT_S = 60.0
"""How long a command of the user's (reset, check, finished-when) may take, in real seconds."""

_SAID = 300
_INJECTOR_PATH = Path(__file__).parent.parent / "worker" / "path"


class Launch:
    """Starts what a cell starts.

    Args:
        order: Which cell.
        surroundings: Where it runs.
        cell: What `{cell}` stands for.
    """

    def __init__(self, order: Order, surroundings: Surroundings, *, cell: str) -> None:
        self._order = order
        self._spec = order.scenario.worker
        self._surroundings = surroundings
        self._cell = cell
        self._values = order.scenario.values_of(order.variant)
        self._home = order.scenario.environment_of(order.variant)
        self._release: ReleaseSpec | None = None
        self._names = {
            f"{name}.{part}": text
            for name, service in surroundings.targets.items()
            for part, text in (
                ("url", service.url),
                ("mcp", service.url + MCP_PATH),
                ("host", "127.0.0.1"),
                ("port", str(service.port)),
            )
        }
        if surroundings.household is not None:
            self._names = {**surroundings.household.names, **self._names}
        self._check_tools()

    def _check_tools(self) -> None:
        """Refuse to send a worker to tools that there are none of.

        Raises:
            ScenarioInvalid: It is given the address of the tools of a service that nobody described.
        """
        commands = [self._spec.command, self._spec.resume_command or ()]
        other: tuple[AxisValue | ReleaseSpec, ...] = (*self._values, *self._order.scenario.releases)
        commands += [text for one in other for text in (one.command, one.resume_command) if text]
        texts = [*(word for command in commands for word in command), *self._spec.env.values()]
        texts += [text for one in other for text in one.env.values()]
        for target in self._order.scenario.targets:
            placeholder = f"{{{target.name}.mcp}}"
            if not self._order.profiles[target.name].operations and any(placeholder in text for text in texts):
                raise ScenarioInvalid(
                    f"{placeholder} leads to no tools: the operations of {target.profile!r} are not known beforehand.",
                    where=f"targets.{target.name}.profile",
                    next_step="Name a profile whose operations are described; `ackgap targets` lists them.",
                )

    def command(self, incarnation: int) -> tuple[str, ...]:
        """Return the argument vector of a life."""
        command, resume = self._spec.command, self._spec.resume_command
        for value in self._values:
            command = value.command or command
            resume = value.resume_command or resume
        if self._release is not None:
            resume = self._release.resume_command or self._release.command or resume
            command = self._release.command or command
        chosen = resume if resume is not None and incarnation > 1 else command
        return self.words(chosen)

    def start(
        self, process: WorkerProcess, command: tuple[str, ...], *, clock_offset_s: float, incarnation: int
    ) -> tuple[int, str]:
        """Start a life; return its process id, and why it was started plainly although a warm start was asked for.

        Raises:
            ProbeFailed: The program cannot be started.
        """
        env = self._environment(process.token, clock_offset_s)
        why_plain = ""
        python = interpreter_of(command)
        if self._order.warm and self._surroundings.nursery_for is not None:
            try:
                if python is None:
                    raise NurseryUnfit("the command does not simply run a script with a Python interpreter")
                nursery = self._surroundings.nursery_for(
                    python, self._order.warm, self._shared_environment(), clock_offset_s, incarnation
                )
                nursery.check(command)
                pid = process.start(command, directory=self._surroundings.work, env=env, nursery=nursery)
            except NurseryUnfit as reason:
                why_plain = str(reason)
            else:
                return pid, ""
        return process.start(command, directory=self._surroundings.work, env=env), why_plain

    def renew(self, release: str) -> None:
        """Have the lives from now on run another release; an empty name leaves it as it is.

        Raises:
            HarnessFailed: Its files cannot be copied.
        """
        scenario = self._order.scenario
        spec = next((spec for spec in scenario.releases if spec.name == release), None)
        if spec is None:
            return
        self._release = spec
        self._home = scenario.environment_named(spec.environment) or self._home
        if spec.directory is not None:
            workspace.lay_over(spec.directory, self._surroundings.work)

    async def reset(self) -> None:
        """Run the user's reset command, if there is one.

        Raises:
            HarnessFailed: It failed.
        """
        if self._spec.reset is None:
            return
        command = self._order.scenario.command_in(self._home, self._spec.reset)
        if self._surroundings.reset_door is not None:
            code, text = await knock(self._surroundings.reset_door)
            said = tail_of(self.redactor.text(text), _SAID)
            self._check_reset(command, code != 0, f"failed with exit status {code}: {said}")
            return
        try:
            done = subprocess.run(  # noqa: ASYNC221 - nothing else is going on yet
                command,
                cwd=self._spec.directory,
                env=self._activated(os.environ),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=COMMAND_LIMIT_S,
                check=False,
            )
            said = tail_of(self.redactor.text(done.stderr or done.stdout), _SAID)
            problem = f"failed with exit status {done.returncode}: {said}"
            failed = done.returncode != 0
        except (OSError, subprocess.TimeoutExpired) as error:
            failed, problem = True, f"could not be run: {error}"
        self._check_reset(command, failed, problem)

    def _check_reset(self, command: tuple[str, ...], failed: bool, problem: str) -> None:
        if failed:
            raise HarnessFailed(
                f"the reset command {problem}",
                where=shlex.join(command),
                next_step="it has to succeed before every cell; run it by hand to see why it does not",
            )

    async def run(self, command: tuple[str, ...], extra: Mapping[str, str]) -> tuple[int, str]:
        """Run a command of the user's in the cell, and return its exit status and what it printed.

        Exit status -1 means that it could not be run or took longer than `COMMAND_LIMIT_S`.
        """
        env = {**self._plain_environment(), **extra}
        try:
            process = await asyncio.create_subprocess_exec(
                *self.words(command),
                cwd=self._surroundings.work,
                env=env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
        except OSError as error:
            return -1, str(error)
        try:
            output, _ = await asyncio.wait_for(process.communicate(), COMMAND_LIMIT_S)
        except TimeoutError:
            process.kill()
            await process.wait()
            return -1, f"no answer within {COMMAND_LIMIT_S:g} s"
        code = process.returncode if process.returncode is not None else -1
        return code, self.redactor.text(output.decode("utf-8", "replace"))

    async def prepare(self) -> None:
        """Run the commands that make durable state before the first life.

        Raises:
            HarnessFailed: One failed.
        """
        for command in self._order.scenario.prepare:
            code, text = await self.run(command, {})
            if code != 0:
                raise HarnessFailed(
                    f"a command of [prepare] failed with exit status {code}: {tail_of(text.strip(), 1000)}",
                    where=shlex.join(command),
                    next_step="it has to succeed before every cell; it runs in a copy of the worker's directory",
                )

    @property
    def directory(self) -> Path:
        """The cell's directory."""
        return self._surroundings.work

    @property
    def worker_port(self) -> int:
        """What `{worker.port}` stands for."""
        return int(self._names["worker.port"])

    def words(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command with its interpreter settled and its placeholders filled in."""
        program, *rest = self._order.scenario.command_in(self._home, command)
        return (program if program != command[0] else self.fill(program), *map(self.fill, rest))

    def environment_with(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return what the user's commands have as their environment, and more."""
        return {**self._plain_environment(), **{name: self.fill(text) for name, text in env.items()}}

    @cached_property
    def redactor(self) -> Redactor:
        """Return what takes the secrets out that any life of the cell is given in its environment."""
        releases = (release.env for release in self._order.scenario.releases)
        client = self._order.scenario.client
        given = [*releases, *([client.env] if client is not None else [])]
        filled = ({name: self.fill(text) for name, text in env.items()} for env in given)
        return Redactor.of(self._plain_environment(), *filled)

    def fill(self, text: str) -> str:
        """Fill `{tickets.url}`, `{cell}` and the like; braces that name nothing are left as they are."""
        return self._fill_shared(text).replace("{cell}", self._cell)

    def _fill_shared(self, text: str) -> str:
        """Fill what is the same in every cell of a slot."""
        for name, value in self._names.items():
            text = text.replace("{" + name + "}", value)
        return text

    def _shared_environment(self) -> dict[str, str]:
        """Return what the lives of all cells of a variant have in common in a slot: that of a warm parent, too."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("ACKGAP_")}
        env = self._activated({**env, **self._told()})
        return {**env, "ACKGAP_RUN": self._surroundings.run_token, "TMPDIR": str(self._surroundings.scratch)}

    def _plain_environment(self) -> dict[str, str]:
        """Return what a life and the user's commands have in common."""
        own = {name: text.replace("{cell}", self._cell) for name, text in self._told().items() if "{cell}" in text}
        return self._activated({**self._shared_environment(), **own})

    def _activated(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with the variant's own programs ahead of all others, where it has any."""
        return dict(env) if self._home is None else self._home.activated(env)

    def _told(self) -> dict[str, str]:
        """Return the variables that the scenario sets, `{cell}` left in them."""
        told = dict(self._spec.env)
        for value in self._values:
            told.update(value.env)
        if self._release is not None:
            told.update(self._release.env)
        return {name: self._fill_shared(text) for name, text in told.items()}

    def _environment(self, token: str, clock_offset_s: float) -> dict[str, str]:
        env = {**self._plain_environment(), TOKEN_VARIABLE: token}
        if not self._spec.python_injector:
            return env
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_INJECTOR_PATH), env.get("PYTHONPATH", "")]))
        env["ACKGAP_CHANNEL"] = str(self._surroundings.channel)
        env["ACKGAP_CONFIG"] = json.dumps(
            {
                "workspace": str(self._surroundings.work),
                "targets": self._surroundings.by_address(),
                "allow_hosts": list(self._order.scenario.worker_hosts),
                "allow_write": list(self._spec.allow_write),
                "scratch": [str(self._surroundings.scratch), *map(str, self._spec.external_state)],
                "clock_offset_s": clock_offset_s,
                "guard_egress": self._surroundings.guard_egress,
                "hurry": self._order.scenario.hurries,
            }
        )
        if self._order.probe and not self._order.warm:
            env["ACKGAP_REPORT_MODULES"] = "1"
        return env
