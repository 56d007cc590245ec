"""Launch: with which command and environment a life starts, and the user's own commands beside it."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ackgap.errors import HarnessFailed
from ackgap.execute.nursery import NurseryUnfit, interpreter_of
from ackgap.execute.order import Order, Surroundings
from ackgap.execute.process import TOKEN_VARIABLE, WorkerProcess

__all__ = ["COMMAND_LIMIT_S", "Launch"]

COMMAND_LIMIT_S = 60.0
"""How long a command of the user's (reset, check, finished-when) may take, in real seconds."""

_INJECTOR_PATH = Path(__file__).parent.parent / "worker" / "path"


class Launch:
    """Starts what a cell starts.

    Args:
        order: Which cell.
        surroundings: Where it runs.
    """

    def __init__(self, order: Order, surroundings: Surroundings) -> None:
        self._order = order
        self._spec = order.scenario.worker
        self._surroundings = surroundings
        self._values = order.scenario.values_of(order.variant)
        self._names = {
            f"{name}.{part}": text
            for name, service in surroundings.targets.items()
            for part, text in (("url", service.url), ("host", "127.0.0.1"), ("port", str(service.port)))
        }

    def command(self, incarnation: int) -> tuple[str, ...]:
        """Return the argument vector of a life."""
        command, resume = self._spec.command, self._spec.resume_command
        for value in self._values:
            command = value.command or command
            resume = value.resume_command or resume
        chosen = resume if resume is not None and incarnation > 1 else command
        return tuple(self._fill(argument) for argument in chosen)

    def start(self, process: WorkerProcess, command: tuple[str, ...], *, clock_offset_s: float) -> tuple[int, str]:
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
                nursery = self._surroundings.nursery_for(python, self._order.warm, self._plain_environment())
                nursery.check(command, clock_offset_s=clock_offset_s)
                pid = process.start(command, directory=self._surroundings.work, env=env, nursery=nursery)
            except NurseryUnfit as reason:
                why_plain = str(reason)
            else:
                return pid, ""
        return process.start(command, directory=self._surroundings.work, env=env), why_plain

    def reset(self) -> None:
        """Run the user's reset command, if there is one.

        Raises:
            HarnessFailed: It failed.
        """
        command = self._spec.reset
        if command is None:
            return
        try:
            done = subprocess.run(
                command, cwd=self._spec.directory, capture_output=True, text=True, timeout=COMMAND_LIMIT_S, check=False
            )
            problem = f"failed with exit status {done.returncode}: {(done.stderr or done.stdout)[-300:]}"
            failed = done.returncode != 0
        except (OSError, subprocess.TimeoutExpired) as error:
            failed, problem = True, f"could not be run: {error}"
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
        arguments = [self._fill(argument) for argument in command]
        if arguments[0] == "python":
            arguments[0] = sys.executable
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
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
        return process.returncode if process.returncode is not None else -1, output.decode("utf-8", "replace")

    def _fill(self, text: str) -> str:
        """Fill `{tickets.url}` and the like; braces that name nothing are left as they are."""
        for name, value in self._names.items():
            text = text.replace("{" + name + "}", value)
        return text

    def _nursery_environment(self) -> dict[str, str]:
        """Return the environment under which third-party modules are imported: that of no life and no variant."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("ACKGAP_")}
        env.update({name: self._fill(value) for name, value in self._spec.env.items()})
        return {**env, "ACKGAP_RUN": self._surroundings.run_token}

    def _plain_environment(self) -> dict[str, str]:
        """Return what a life and the user's commands have in common."""
        env = self._nursery_environment()
        for value in self._values:
            env.update({name: self._fill(text) for name, text in value.env.items()})
        return {**env, "TMPDIR": str(self._surroundings.scratch)}

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
                "allow_hosts": list(self._spec.allow_hosts),
                "allow_write": list(self._spec.allow_write),
                "scratch": [str(self._surroundings.scratch), *map(str, self._spec.external_state)],
                "clock_offset_s": clock_offset_s,
                "guard_egress": self._surroundings.guard_egress,
            }
        )
        if self._order.probe and not self._order.warm:
            env["ACKGAP_REPORT_MODULES"] = "1"
        return env
