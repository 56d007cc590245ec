"""ackgap against the script that one would write by hand: start, SIGKILL when the POST comes, start again, count.

Both do the same real kills of the same unchanged workers, one cell after the other on one core's worth of slots, and
alternate within this run. ackgap's time includes parking, the proof of death, the digests of the store, the history
and the judging. Prints ratios with their interval; the output of one run is kept in naive_script.txt.

python benchmarks/naive_script.py [--write]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from measure import Interval, machine, pairs, timed

from ackgap.campaign.cell import CellTask, run_cell
from ackgap.campaign.pool import with_pool
from ackgap.campaign.stage import wants_isolation
from ackgap.execute.ground import clear_ground, prepare_ground
from ackgap.execute.order import Order
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.report.store import read_run
from ackgap.session import Source
from ackgap.target.profiles.profile import load_profile

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
LIMIT_S = 60

# ------------------------------------------------------------------ by hand


class Fake(BaseHTTPRequestHandler):
    """One server for every service of both workers; counts what is filed, and kills at the request it waits for."""

    protocol_version = "HTTP/1.1"
    filed: list[str]
    kills: list[Callable[[], object]]
    kill_at: str
    number: int

    def do_POST(self) -> None:
        """File it; kill the worker if this is where it is to die."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.filed.append(self.path)
        if self.kills and self.path == self.kill_at and self.filed.count(self.path) == self.number:
            self.kills.pop()()
            self.close_connection = True
            return
        self._answer(self._made())

    def do_GET(self) -> None:
        """Find the same for every question."""
        self._answer({"results": [{"title": "a fine", "text": "late accounts"}], "items": [], "count": 0})

    def _made(self) -> dict[str, object]:
        if not self.path.endswith("/chat/completions"):
            return {"id": f"N-{len(self.filed)}", "decision": "approved"}
        words = json.dumps({"title": f"Review {len(self.filed)}", "summary": "Medium risk."})
        call = {"id": "c", "type": "function", "function": {"name": "create_ticket", "arguments": words}}
        return {"choices": [{"message": {"role": "assistant", "content": "Medium risk.", "tool_calls": [call]}}]}

    def _answer(self, document: dict[str, object]) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A worker, how the naive script runs it, and which cell of ackgap is the same kill.

    Attributes:
        folder: Copied for each kill, as ackgap does.
        urls: Variables that hold a service's address.
        kill_at: Path of the POST at which it dies.
        run: Arguments of `ackgap run` that lead to that cell.
        schedule: The cell's schedule.
        variant: The cell's variant.
    """

    title: str
    folder: Path
    script: str
    urls: tuple[str, ...]
    kill_at: str
    run: tuple[str, ...]
    schedule: str
    variant: str = "default"
    env: Mapping[str, str]
    needs: tuple[str, ...] = ()


def kill_by_hand(subject: Subject, *, number: int = 1) -> None:
    """Kill once, at the how-manieth such POST, and bring it back: two launches, and the count."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "work"
        shutil.copytree(subject.folder, work)
        handler = type("Handler", (Fake,), {"filed": [], "kills": [], "kill_at": subject.kill_at, "number": number})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}"
            env = {**os.environ, **dict.fromkeys(subject.urls, url), **subject.env}
            command = [sys.executable, subject.script]
            # The kill must not come before Popen has returned what is to be killed.
            started = threading.Event()
            processes: list[subprocess.Popen[bytes]] = []
            handler.kills.append(lambda: (started.wait(LIMIT_S), processes[0].kill()))
            processes.append(subprocess.Popen(command, cwd=work, env=env, stdout=subprocess.DEVNULL))
            started.set()
            if processes[0].wait(LIMIT_S) != -9:
                raise SystemExit("the naive script did not kill the worker")
            subprocess.run(command, cwd=work, env=env, stdout=subprocess.DEVNULL, check=True, timeout=LIMIT_S)
        finally:
            server.shutdown()
            server.server_close()
        if handler.filed.count(subject.kill_at) < number + 1:
            raise SystemExit(f"the naive script counted {handler.filed.count(subject.kill_at)} and no repeat")


# ------------------------------------------------------------------- ackgap


def whole_run(subject: Subject, out: Path) -> None:
    """Run the command as a person does, for this one kill: start, probes, the cell, the reports."""
    command = [sys.executable, "-m", "ackgap", "run", *subject.run, "--quiet", "--out", str(out)]
    done = subprocess.run(
        [*command, "--fail-on", "never", "--point", subject.schedule],
        cwd=subject.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


@contextmanager
def ready_slot(subject: Subject, out: Path) -> Iterator[Callable[[], None]]:
    """Yield a function that runs the cell once in a slot that is already there."""
    scenario, info = Source.read(out).scenario(), read_run(out).info
    variant = Variant.parse(subject.variant)
    profiles = {target.name: load_profile(target.profile) for target in scenario.targets}
    order = Order(scenario=scenario, variant=variant, schedule=Schedule.parse(subject.schedule), profiles=profiles)
    task = CellTask(order=order, expectation=info.expectations[str(variant)])
    asked, answered, over = threading.Semaphore(0), threading.Semaphore(0), threading.Event()
    kinds: list[VerdictKind] = []

    def work(pool, /) -> None:  # type: ignore[no-untyped-def]
        while True:
            asked.acquire()
            if over.is_set():
                return
            try:
                kinds.append(pool.submit(run_cell, task).result().verdict.kind)
            finally:
                answered.release()

    def once() -> None:
        asked.release()
        answered.acquire()
        if kinds[-1:] != [VerdictKind.DUPLICATE]:
            raise SystemExit(f"ackgap found {kinds[-1:]} instead of a duplicate")
        kinds.clear()

    ground = prepare_ground()
    isolated = wants_isolation(scenario, "auto")
    thread = threading.Thread(target=with_pool, args=(scenario, ground, 1), kwargs={"isolated": isolated, "work": work})
    thread.start()
    try:
        once()  # the slot's own start belongs to the whole run, not to each kill
        yield once
    finally:
        over.set()
        asked.release()
        thread.join(LIMIT_S)
        clear_ground(ground)


# -------------------------------------------------------------------- print


def compare(subject: Subject, *, count: int, budget_s: float) -> Iterator[str]:
    """Yield the lines that say how the two compare."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        whole_run(subject, out)  # for the yardstick; and the files of both are then in the system's cache
        kill_by_hand(subject)
        with ready_slot(subject, out) as once:
            found = pairs(
                lambda: timed(lambda: kill_by_hand(subject)),
                lambda: timed(once),
                count=count, at_least=3, budget_s=budget_s,
            )  # fmt: skip
        whole = pairs(
            lambda: timed(lambda: kill_by_hand(subject)),
            lambda: timed(lambda: whole_run(subject, out)),
            count=3, at_least=2, budget_s=15,
        )  # fmt: skip
    yield f"{subject.title}, killed when POST {subject.kill_at} has taken effect"
    yield from _rows("one kill and its verdict", found)
    yield from _rows("the whole command for one kill: start, undisturbed runs, the kill, reports", whole)
    yield ""


def _rows(title: str, found: list[tuple[float, float]]) -> Iterator[str]:
    yield f"  {title}, {len(found)} pair{'' if len(found) == 1 else 's'}"
    yield f"    naive script  {Interval.of([naive for naive, _ in found]).text()} s"
    yield f"    ackgap        {Interval.of([ours for _, ours in found]).text()} s"
    yield f"    naive/ackgap  {Interval.of([naive / ours for naive, ours in found]).text('8.2f')}"


SUBJECTS = (
    Subject(
        title="Light Python worker (scenarios/agents/python)",
        folder=SCENARIOS / "agents" / "python",
        script="agent.py",
        urls=("TICKETS_URL",),
        env={},
        kill_at="/tickets",
        run=("--worker", "{python} agent.py", "--target", "tickets=any", "--env", "TICKETS_URL={tickets.url}"),
        schedule="tickets.POST/tickets#1:applied",
    ),
    Subject(
        title="LangGraph worker (scenarios/langgraph-ticket), durability sync",
        folder=SCENARIOS / "langgraph-ticket",
        script="worker.py",
        urls=("SEARCH_URL", "MODEL_URL", "APPROVALS_URL", "TICKETS_URL", "NOTIFY_URL"),
        env={"DURABILITY": "sync", "RESUME": "none", "KEY": "none"},
        kill_at="/tickets",
        run=(
            "langgraph-ticket", "--only", "durability=sync", "--only", "resume=none", "--only", "key=none",
            "--only", "protection=none",
        ),
        schedule="tickets.create#1:applied",
        variant="durability=sync,resume=none,key=none,protection=none",
        needs=("langgraph", "langgraph.checkpoint.sqlite", "httpx"),
    ),
)  # fmt: skip


def report() -> Iterator[str]:
    """Yield the lines of the whole benchmark."""
    yield f"machine: {machine()}"
    yield "Median of pairs [smallest to largest]; the two alternate. naive/ackgap above 1: ackgap is the faster one."
    yield ""
    for subject in SUBJECTS:
        missing = [module for module in subject.needs if not _is_there(module)]
        if missing:
            yield f"{subject.title}: left out, {', '.join(missing)} not installed"
            continue
        yield from compare(subject, count=12, budget_s=15)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the output in naive_script.txt")
    options = parser.parse_args()
    lines = []
    for line in report():
        print(line, flush=True)
        lines.append(line)
    if options.write:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
