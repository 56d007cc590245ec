"""Launch: with which command and environment a life starts, and the user's own commands beside it."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from ackgap.errors import HarnessFailed, ScenarioInvalid
from ackgap.execute import workspace
from ackgap.execute.allowance import Allowance
from ackgap.execute.containers.dock import INJECTOR_PLACE, Dock
from ackgap.execute.containers.process import ContainerProcess
from ackgap.execute.forwarder import knock
from ackgap.execute.means import Means, means_for, preload_environment
from ackgap.execute.nursery import NurseryUnfit, interpreter_of
from ackgap.execute.order import Order, Surroundings
from ackgap.execute.plain_process import PlainProcess
from ackgap.execute.process import TOKEN_VARIABLE, WorkerProcess
from ackgap.execute.trace.listening import Listener
from ackgap.model.event import Injector
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
        self.means = Means(Injector.WIRE)
        """By what the life that was started last is looked into."""
        ports = {name: service.port for name, service in surroundings.targets.items()}
        host = "127.0.0.1" if surroundings.dock is None else surroundings.dock.gateway
        self._names = _names_of(ports, host)
        if surroundings.household is not None:
            self._names = {**surroundings.household.names, **self._names}
        self._names_of_lives = self._names  # they alone reach what is behind links through these
        if surroundings.household is not None and surroundings.links:
            behind = _names_of({name: port for name, port in surroundings.links.items() if name in ports}, host)
            self._names_of_lives = {**self._names, **surroundings.household.names_behind_links, **behind}
        wires = {} if surroundings.household is None else surroundings.household.wires
        self._wires = {surroundings.links.get(name, port) for name, port in wires.items()} | {*wires.values()}
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
        if self._surroundings.dock is not None:
            return tuple(self.fill(word, of_life=True) for word in chosen)
        return self.words(chosen, of_life=True)

    def process(self, number: int, *, token: str) -> WorkerProcess:
        """Return the process of a life that has not begun, of the kind that the scenario's workers are.

        Args:
            number: Of the life.
            token: Its secret.
        """
        doubt, dock = self._spec.in_doubt_when, self._surroundings.dock
        kept = self._order.scenario.limits.output_bytes
        if dock is None:
            return PlainProcess(
                token=token, output_bytes=kept, in_doubt_when=doubt, redactor=self.redactor, group=self.allowance.group
            )
        return ContainerProcess(
            dock,
            number=number,
            hostname=self._hostname(dock, number),
            mounts=self._mounts(dock),
            limits=self._order.scenario.limits,
            token=token,
            output_bytes=kept,
            in_doubt_when=doubt,
            redactor=self.redactor,
        )

    def _hostname(self, dock: Dock, number: int) -> str:
        chosen = dock.spec.hostname
        for value in self._values:
            chosen = value.hostname or chosen
        return "worker" if chosen == "same" else f"worker-{number}"

    def _mounts(self, dock: Dock) -> dict[str, Path]:
        """Return what of the cell a container has, by the place where it has it: the same, where nobody says else."""
        lent = self._surroundings
        own = [lent.work, lent.scratch, *([lent.channel] if self._spec.python_injector else [])]
        found = {str(path): path for path in own}
        for place, folder in dock.spec.mounts.items():
            found[place] = lent.work / folder
            found[place].mkdir(parents=True, exist_ok=True)
        return found

    def start(
        self, process: WorkerProcess, command: tuple[str, ...], *, clock_offset_s: float, incarnation: int
    ) -> tuple[int, str]:
        """Start a life; return its process id, and why it was started plainly although a warm start was asked for.

        Raises:
            ProbeFailed: The program cannot be started.
        """
        env = self._environment(process.token, clock_offset_s)
        if self._surroundings.dock is not None:
            why_plain = "it runs in a container" if self._order.warm else ""
            return process.start(command, directory=self._surroundings.work, env=env), why_plain
        asked = self._spec.injector
        self.means = means = means_for(asked, command, path=env.get("PATH"), directory=self._surroundings.work)
        if means.injector is Injector.PRELOAD:
            env |= self._preloaded(env)
        elif means.injector is Injector.TRACE:
            process.listener = Listener()
            env = {name: text for name, text in env.items() if name != "ACKGAP_CHANNEL"}  # one injector sees it all
        why_plain = ""
        python = interpreter_of(command)
        if self._order.warm and self._surroundings.nursery_for is not None:
            try:
                if means.injector is not Injector.PYTHON and asked != "auto":
                    raise NurseryUnfit(f"the {means.injector} injector comes up when a program starts")
                if python is None:
                    raise NurseryUnfit("the command does not simply run a script with a Python interpreter")
                nursery = self._surroundings.nursery_for(
                    python, self._order.warm, self._shared_environment(of_life=True), clock_offset_s, incarnation
                )
                nursery.check(command)
                pid = process.start(command, directory=self._surroundings.work, env=env, nursery=nursery)
            except NurseryUnfit as reason:
                why_plain = str(reason)
            else:
                return pid, ""
        return process.start(command, directory=self._surroundings.work, env=env), why_plain

    def _preloaded(self, env: Mapping[str, str]) -> dict[str, str]:
        ports = {int(address.rpartition(":")[2]) for address in self._surroundings.by_own_address()}
        return preload_environment(
            env,
            root=self._surroundings.work,
            channel=self._surroundings.channel,
            ports=sorted(ports) if self._spec.sends else (),
            beside_python=self._spec.python_injector,
        )

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

    def words(self, command: tuple[str, ...], *, of_life: bool = False) -> tuple[str, ...]:
        """Return a command with its interpreter settled and its placeholders filled in."""
        program, *rest = self._order.scenario.command_in(self._home, command)
        fill = functools.partial(self.fill, of_life=of_life)
        return (program if program != command[0] else fill(program), *map(fill, rest))

    def environment_with(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return what the user's commands have as their environment, and more."""
        return {**self._plain_environment(), **{name: self.fill(text) for name, text in env.items()}}

    @cached_property
    def allowance(self) -> Allowance:
        """What all lives of the cell may take together."""
        return Allowance(self._order.scenario.limits, contained=self._surroundings.dock is not None)

    @cached_property
    def redactor(self) -> Redactor:
        """Return what takes the secrets out that any life of the cell is given in its environment."""
        releases = (release.env for release in self._order.scenario.releases)
        client = self._order.scenario.client
        given = [*releases, *([client.env] if client is not None else [])]
        filled = ({name: self.fill(text) for name, text in env.items()} for env in given)
        return Redactor.of(self._plain_environment(), *filled)

    def fill(self, text: str, *, of_life: bool = False) -> str:
        """Fill `{tickets.url}`, `{cell}` and the like; braces that name nothing are left as they are.

        Args:
            text: Of a command or variable.
            of_life: It is the worker's, which goes through Toxiproxy where there is a link; whoever else asks does not.
        """
        return self._fill_shared(text, of_life=of_life).replace("{cell}", self._cell)

    def _fill_shared(self, text: str, *, of_life: bool) -> str:
        """Fill what is the same in every cell of a slot."""
        for name, value in (self._names_of_lives if of_life else self._names).items():
            text = text.replace("{" + name + "}", value)
        return text

    def _shared_environment(self, *, of_life: bool = False) -> dict[str, str]:
        """Return what the lives of all cells of a variant have in common in a slot: that of a warm parent, too."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("ACKGAP_")}
        told = self._told(of_life=of_life)
        env = self._activated({**env, **told})
        if of_life and self._surroundings.interceptor is not None:
            env = self._surroundings.interceptor.environment(env, told)
        return {**env, "ACKGAP_RUN": self._surroundings.run_token, "TMPDIR": str(self._surroundings.scratch)}

    def _plain_environment(self, *, of_life: bool = False) -> dict[str, str]:
        """Return what a life and the user's commands have in common."""
        told = self._told(of_life=of_life)
        own = {name: text.replace("{cell}", self._cell) for name, text in told.items() if "{cell}" in text}
        return self._activated({**self._shared_environment(of_life=of_life), **own})

    def _activated(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with the variant's own programs ahead of all others, where it has any."""
        return dict(env) if self._home is None else self._home.activated(env)

    def _container_environment(self) -> dict[str, str]:
        """Return what is added to the environment that the image gives a life."""
        told = {name: self.fill(text) for name, text in self._told(of_life=True).items()}
        return {**told, "ACKGAP_RUN": self._surroundings.run_token, "TMPDIR": str(self._surroundings.scratch)}

    def _hosts_beside(self) -> list[str]:
        household = self._surroundings.household
        return [] if household is None else household.hosts()

    def _told(self, *, of_life: bool) -> dict[str, str]:
        """Return the variables that the scenario sets, `{cell}` left in them."""
        told = dict(self._spec.env)
        for value in self._values:
            told.update(value.env)
        if self._release is not None:
            told.update(self._release.env)
        return {name: self._fill_shared(text, of_life=of_life) for name, text in told.items()}

    def _environment(self, token: str, clock_offset_s: float) -> dict[str, str]:
        dock = self._surroundings.dock
        env = {
            **(self._plain_environment(of_life=True) if dock is None else self._container_environment()),
            TOKEN_VARIABLE: token,
        }
        if not self._spec.python_injector:
            return env
        path = str(_INJECTOR_PATH) if dock is None else f"{INJECTOR_PLACE}/{_INJECTOR_PATH.name}"
        others = env.get("PYTHONPATH", "" if dock is None else dock.image_env.get("PYTHONPATH", ""))
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [path, others]))
        env["ACKGAP_CHANNEL"] = str(self._surroundings.channel)
        interceptor = self._surroundings.interceptor
        hosts = () if interceptor is None else interceptor.names_answered
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
                "own_hosts": list(hosts) if dock is None else [dock.gateway, *self._hosts_beside()],
                "authority": "" if interceptor is None else str(interceptor.authority),
                "mounts": [] if dock is None else list(dock.spec.mounts),
                "wire": [f"{host}:{port}" for port in sorted(self._wires) for host in ("127.0.0.1", "localhost")],
            }
        )
        if self._order.probe and not self._order.warm:
            env["ACKGAP_REPORT_MODULES"] = "1"
        return env


def _names_of(ports: Mapping[str, int], host: str = "127.0.0.1") -> dict[str, str]:
    """Return what the placeholders of targets stand for that are reached at some ports of a host."""
    return {
        f"{name}.{part}": text
        for name, port in ports.items()
        for part, text in (
            ("url", f"http://{host}:{port}"),
            ("mcp", f"http://{host}:{port}{MCP_PATH}"),
            ("host", host),
            ("port", str(port)),
        )
    }
