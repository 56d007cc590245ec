"""The processes of `durability.py`: an engine in each, the servers that some need, and who counts durable writes."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil

import ackgap
from ackgap.errors import AckgapError
from ackgap.execute.services import postgres
from ackgap.execute.services.household import Household, check_services
from ackgap.scenario.services import ReadyWhen, ServiceSpec

INJECTOR_PATH = Path(ackgap.__file__).parent / "worker" / "path"
HERE = Path(__file__).resolve().parent
COUNTED = (5, 15)
"""Pieces of work of so many steps tell what a step writes, and what comes once for all of them."""


@dataclass(frozen=True)
class Missing:
    """Something that cannot be measured here, and how that can be changed."""

    name: str
    what: str
    next_step: str


@dataclass(frozen=True)
class Recipe:
    """A process.

    Attributes:
        module: Of `loops`.
        needs: Python modules.
        extra: Of ackgap, which brings them.
        service: Beside it.
        env: Its variables; `{NAME.url}` and the like are filled in.
        counts: Who counts durable writes: `writes` (the injector), `events` (the server), or nobody.
    """

    module: str
    needs: tuple[str, ...] = ()
    extra: str = ""
    service: ServiceSpec | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    counts: str = "writes"


POSTGRES = ServiceSpec(name="db", kind="postgres")
PREFECT = ServiceSpec(
    name="prefect",
    kind="command",
    command=(
        *(sys.executable, "-m", "prefect", "server", "start"),
        *("--host", "127.0.0.1", "--port", "{prefect.port}", "--no-services"),
    ),
    env={
        "PREFECT_HOME": "{prefect.directory}",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_ENABLED": "false",
    },
    ready=ReadyWhen(limit_s=600),
)
RECIPES = {
    "plain": Recipe("plain"),
    "dbos": Recipe("on_dbos", ("dbos",), "dbos"),
    "dbos-postgres": Recipe(
        "on_dbos", ("dbos", "psycopg"), "dbos-postgres", POSTGRES, {"DATABASE_URL": "{db.url}"}
    ),
    "temporal": Recipe(
        "on_temporal", ("temporalio",), "temporal", ServiceSpec(name="temporal", kind="temporal"),
        {"TEMPORAL_ADDRESS": "{temporal.address}"}, counts="events",
    ),
    "pydantic-ai": Recipe("on_pydantic_ai", ("dbos", "pydantic_ai"), "pydantic-ai"),
    "openai-agents": Recipe("on_openai_agents", ("agents",), "openai-agents"),
    "llamaindex": Recipe("on_llamaindex", ("workflows",), "llamaindex"),
    "langgraph": Recipe("on_langgraph", ("langgraph.checkpoint.sqlite",), "langgraph"),
    "langgraph-postgres": Recipe(
        "on_langgraph", ("langgraph.checkpoint.postgres", "psycopg"), "langgraph-postgres", POSTGRES,
        {"DATABASE_URL": "{db.url}"},
    ),
    "prefect": Recipe(
        "on_prefect", ("prefect",), "prefect", PREFECT,
        {
            "PREFECT_API_URL": "http://127.0.0.1:{prefect.port}/api", "PREFECT_HOME": ".prefect",
            "PREFECT_LOCAL_STORAGE_PATH": "results", "PREFECT_LOGGING_LEVEL": "ERROR",
            "PREFECT_LOGGING_TO_API_ENABLED": "false", "DO_NOT_TRACK": "1",
        },
        counts="",
    ),
    "celery": Recipe(
        "on_celery", ("celery", "redis"), "celery", ServiceSpec(name="redis", kind="redis"),
        {"REDIS_URL": "{redis.url}"}, counts="",
    ),
}  # fmt: skip


class Child:
    """One process, which does work when it is asked to.

    Args:
        module: Of `loops`.
        directory: Its own.
        env: All of its environment.
    """

    def __init__(self, module: str, directory: Path, env: Mapping[str, str]) -> None:
        directory.mkdir(parents=True)
        self._log = directory / "log"
        with self._log.open("wb") as log:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "loops", module],
                cwd=directory,
                env={**env, "PYTHONPATH": os.pathsep.join(filter(None, (env.get("PYTHONPATH"), str(HERE))))},
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._answer()

    def run(self, mode: str, steps: int) -> tuple[float, int | None]:
        """Have it do one piece of work; return the seconds, and the events of a server where that counts them."""
        assert self._popen.stdin is not None
        self._popen.stdin.write(f"{mode} {steps}\n")
        self._popen.stdin.flush()
        took_s, events = json.loads(self._answer())
        return took_s, events

    def _answer(self) -> str:
        assert self._popen.stdout is not None
        line = self._popen.stdout.readline()
        if not line:
            said = self._log.read_text(errors="replace").strip()[-2000:]
            raise SystemExit(f"a process that is measured has ended with {self._popen.wait()}; it printed:\n{said}")
        return line

    def end(self) -> None:
        """End it, and what it has started."""
        below: list[psutil.Process] = []
        with contextlib.suppress(psutil.NoSuchProcess):
            below = psutil.Process(self._popen.pid).children(recursive=True)
        self._popen.kill()
        self._popen.wait()
        for stream in (self._popen.stdin, self._popen.stdout):
            assert stream is not None
            stream.close()
        for process in below:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(below, timeout=10)


class Bench:
    """All processes and servers, each started when it is first needed. A context manager."""

    def __enter__(self) -> Self:
        """Make the directory that all of it lies in."""
        self._ends = ExitStack()
        self._home = Path(self._ends.enter_context(tempfile.TemporaryDirectory(prefix="durability-")))
        self._children: dict[str, Child] = {}
        self._envs: dict[str, dict[str, str]] = {}
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    @property
    def file_system(self) -> str:
        """What the files lie on."""
        mounts = [mount for mount in psutil.disk_partitions(all=True) if self._home.is_relative_to(mount.mountpoint)]
        return max(mounts, key=lambda mount: len(mount.mountpoint)).fstype if mounts else "an unknown file system"

    def start(self, names: Iterable[str]) -> list[Missing]:
        """Start processes and their servers; return those that cannot be had here."""
        missing = []
        for name in sorted(names, key=list(RECIPES).index):
            recipe = RECIPES[name]
            lacking = [module for module in recipe.needs if not is_there(module)]
            if lacking:
                missing.append(
                    Missing(name, f"{', '.join(lacking)} not installed", f"pip install 'ackgap[{recipe.extra}]'")
                )
                continue
            try:
                self._envs[name] = self._environment(name, recipe)
            except AckgapError as error:
                missing.append(Missing(name, error.what, error.next_step))
                continue
            self._children[name] = self._child(recipe.module, self._home / name / "work", self._envs[name])
        return missing

    def child(self, name: str) -> Child:
        """Return a process that was started."""
        return self._children[name]

    def writes(self, name: str, loop: str) -> tuple[str, tuple[float, float] | None]:
        """Return who counts the durable writes of a mode, and how many there are a step and a piece of work."""
        recipe = RECIPES[name]
        if not recipe.counts:
            return "", None
        if recipe.counts == "events":
            few, many = (self._children[name].run(loop, steps)[1] or 0 for steps in COUNTED)
        else:
            few, many = self._count(recipe, self._home / name / f"counted {loop}", self._envs[name], loop)
        a_step = (many - few) / (COUNTED[1] - COUNTED[0])
        return recipe.counts, (a_step, few - a_step * COUNTED[0])

    def _count(self, recipe: Recipe, directory: Path, env: dict[str, str], loop: str) -> tuple[int, int]:
        directory.mkdir(parents=True)
        writes = Announced(directory / "channel")
        injected = env | {
            "PYTHONPATH": str(INJECTOR_PATH),
            "ACKGAP_CHANNEL": str(writes.path),
            "ACKGAP_TOKEN": "benchmark",
            "ACKGAP_CONFIG": json.dumps({"workspace": str(directory / "work"), "targets": {}, "guard_egress": False}),
        }
        child = Child(recipe.module, directory / "work", injected)
        try:
            child.run(loop, 2)  # what is made at the first use
            marks = [writes.committed]
            for steps in COUNTED:
                child.run(loop, steps)
                marks.append(writes.committed)
        finally:
            child.end()
        return marks[1] - marks[0], marks[2] - marks[1]

    def _child(self, module: str, directory: Path, env: Mapping[str, str]) -> Child:
        child = Child(module, directory, env)
        self._ends.callback(child.end)
        return child

    def _environment(self, name: str, recipe: Recipe) -> dict[str, str]:
        """Return the environment of a process, whose server runs from now on."""
        kept = {key: text for key, text in os.environ.items() if not key.startswith("ACKGAP_")}
        if recipe.service is None:
            return {**kept, **recipe.env}
        check_services((recipe.service,))
        directory = self._home / name / "service"
        directory.mkdir(parents=True)
        household = Household(
            (recipe.service,), directory=directory, above=(self._home, self._home / name),
            run_token=secrets.token_hex(8), label="bench",
        )  # fmt: skip
        self._ends.callback(household.stop)
        # A test of crashed workers does without what only a crash of the machine needs; a measurement must not.
        settings = postgres._SETTINGS
        for_tests = dict(settings)
        settings.update(fsync="on", full_page_writes="on", autovacuum="on")
        try:
            household.renew(_Nowhere())
        finally:
            settings.update(for_tests)
        told = dict(recipe.env)
        for placeholder, value in household.names.items():
            told = {key: text.replace("{" + placeholder + "}", value) for key, text in told.items()}
        return {**kept, **told}


class _Nowhere:
    """Takes notes, and keeps none."""

    def record(self, *_: object, **__: object) -> None: ...


class Announced:
    """The other end of the injector's channel: lets everybody go on at once, and counts durable writes.

    Args:
        path: Of its socket.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.committed = 0
        self._counting = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            client, _ = self._listener.accept()
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, worker: socket.socket) -> None:
        with worker.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                if message["type"] != "reach":
                    continue
                if message["kind"] == "checkpoint" and message["phase"] == "committed":
                    with self._counting:
                        self.committed += 1
                worker.sendall(b'{"id": %d, "go": true}\n' % message["id"])


def is_there(module: str) -> bool:
    """Whether a Python module can be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False
