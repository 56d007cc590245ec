"""A run in parts on the workers of a Dask cluster: each runs one, and the results come back to be merged.

The same as `--shard` on several machines, with Dask's own scheduler to hand the parts out and to fetch the results. A
part is a process of its own on the worker's machine, started where this one was: the scenario, and ackgap, have to be
there at the same paths.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from pathlib import Path

from ackgap.errors import EnvironmentLacks, HarnessFailed, UsageInvalid
from ackgap.model.event import Json

__all__ = ["PartOutcome", "run_on_cluster"]

_CONNECT_LIMIT_S = 10.0
_FINISHED = (0, 1, 3)
"""Exit statuses of `ackgap run` that say that it was carried through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOutcome:
    """What came of one part.

    Attributes:
        status: As `ackgap run` exits.
        said: What it printed for a person, in the end.
        files: The results, by name.
        host: The machine.
    """

    status: int
    said: str
    files: Mapping[str, bytes]
    host: str


def run_on_cluster(address: str, options: Mapping[str, Json], *, into: Path, tell: Callable[[str], None]) -> list[Path]:
    """Run a part on each worker of a cluster, and return the directories that their results are in now.

    Args:
        address: Of Dask's scheduler.
        options: Of `ackgap run`, by their names.
        into: Where the directories go.
        tell: Told of each part as it is done.

    Raises:
        EnvironmentLacks: Dask is not installed.
        UsageInvalid: No scheduler answers there, or it has no worker.
        AckgapError: A part was not carried through.
    """
    try:
        from distributed import Client
    except ImportError:
        raise EnvironmentLacks(
            "a cluster of Dask needs the package distributed", where="--dask", next_step="pip install 'ackgap[dask]'"
        ) from None
    try:
        client = Client(address, timeout=_CONNECT_LIMIT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageInvalid(
            f"no scheduler of Dask answers: {error}",
            where=f"--dask {address}",
            next_step="start one with `dask scheduler`, and workers with `dask worker ADDRESS`",
        ) from error
    with client:
        parts = len(client.scheduler_info(n_workers=-1)["workers"])
        if not parts:
            raise UsageInvalid(
                "the cluster has no worker",
                where=f"--dask {address}",
                next_step=f"start one with `dask worker {address}`, with one thread",
            )
        directories = []
        with client.get_executor(pure=False, retries=0) as executor:
            futures: dict[Future[PartOutcome], int] = {
                executor.submit(run_part, dict(options), f"{number}/{parts}", str(Path.cwd())): number
                for number in range(1, parts + 1)
            }
            for future in as_completed(futures):
                number = futures[future]
                directories.append(_taken(future, f"{number}/{parts}", into / str(number)))
                tell(f"part {number}/{parts} is done, on {future.result().host}")
    return sorted(directories, key=lambda directory: int(directory.name))


def _taken(future: Future[PartOutcome], part: str, directory: Path) -> Path:
    """Write down what a part came to.

    Raises:
        HarnessFailed: It was not carried through.
    """
    try:
        outcome = future.result()
    except Exception as error:
        raise HarnessFailed(
            f"part {part} was lost with its worker, or could not be started there: {error}",
            where="--dask",
            next_step="ackgap and the scenario have to be on the workers' machines, at the same paths",
        ) from error
    if outcome.status not in _FINISHED:
        raise HarnessFailed(
            f"part {part} was not carried through on {outcome.host} (exit status {outcome.status}): {outcome.said}",
            where="--dask",
            next_step="mend what it says, and run again",
        )
    directory.mkdir(parents=True)
    for name, content in outcome.files.items():
        (directory / name).write_bytes(content)
    return directory


def run_part(options: dict[str, Json], shard: str, directory: str) -> PartOutcome:
    """Run a part on the machine that this is called on.

    Args:
        options: Of `ackgap run`.
        shard: Which part.
        directory: Where the whole run was started.
    """
    with tempfile.TemporaryDirectory(prefix="ackgap-part-") as scratch:
        out = Path(scratch) / "out"
        given = {**options, "shard": shard, "out": str(out), "quiet": True}
        done = subprocess.run(
            [sys.executable, "-m", "ackgap.cli.part"],
            cwd=directory,
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=False,
        )
        files = {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()} if out.is_dir() else {}
        return PartOutcome(
            status=done.returncode, said=done.stderr[-2000:].strip(), files=files, host=os.uname().nodename
        )
