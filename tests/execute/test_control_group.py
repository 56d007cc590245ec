"""Control groups: found in both hierarchies, held by the kernel, and gone afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ackgap.execute.control_group import ControlGroup, NotPermitted

MIB = 1024 * 1024


@pytest.fixture
def permitted() -> None:
    try:
        ControlGroup(memory_bytes=64 * MIB, processes=10).close()
    except NotPermitted as reason:
        pytest.skip(f"{reason}: needs root, or a control group that was delegated")


def groups_of(pid: int) -> set[Path]:
    places = (line.split(":", 2)[2] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines())
    return {Path(place) for place in places if f"ackgap-{os.getpid()}-" in place}


@pytest.mark.usefixtures("permitted")
def test_what_takes_more_memory_than_it_may_is_killed_and_counted():
    with ControlGroup(memory_bytes=64 * MIB) as group:
        code = f"held = bytearray({256 * MIB}); held[::4096] = bytes(len(held[::4096]))"
        done = subprocess.run([sys.executable, "-c", code], preexec_fn=group.join(), check=False)
        assert done.returncode == -9
        assert group.struck().kills >= 1
        assert group.struck().refusals == 0


@pytest.mark.usefixtures("permitted")
def test_what_stays_within_its_memory_is_not_killed():
    with ControlGroup(memory_bytes=64 * MIB) as group:
        code = f"held = bytearray({8 * MIB}); held[::4096] = bytes(len(held[::4096]))"
        assert subprocess.run([sys.executable, "-c", code], preexec_fn=group.join(), check=False).returncode == 0
        assert group.struck().kills == 0


FORKS = """
import os, sys, time
made = 0
try:
    for _ in range(40):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
print(made, flush=True)
os.killpg(0, 9)
"""


@pytest.mark.usefixtures("permitted")
def test_more_processes_than_there_may_be_are_refused_and_counted():
    with ControlGroup(processes=10) as group:
        done = subprocess.run(
            [sys.executable, "-c", FORKS], preexec_fn=group.join(), stdout=subprocess.PIPE, start_new_session=True,
            check=False,
        )  # fmt: skip
        assert int(done.stdout) == 9, "the one that forks counts too"
        assert group.struck().refusals >= 1


@pytest.mark.usefixtures("permitted")
def test_a_process_that_runs_already_is_taken_in_and_the_group_is_gone_afterwards():
    with ControlGroup(memory_bytes=64 * MIB, processes=10) as group, subprocess.Popen(["sleep", "60"]) as process:
        group.add(process.pid)
        assert groups_of(process.pid)
        process.kill()
    assert not list(Path("/sys/fs/cgroup").glob(f"**/ackgap-{os.getpid()}-*"))


@pytest.mark.usefixtures("permitted")
def test_a_process_that_is_gone_is_none_of_its_business():
    process = subprocess.Popen(["true"])
    process.wait()
    with ControlGroup(processes=10) as group:
        group.add(process.pid)


# ------------------------------------------- other systems, as files look there


def unified(root: Path, *, handed_down: str) -> Path:
    """A machine with version 2, on which we are in a session of a user's."""
    inside = root / "user.slice" / "session.scope"
    inside.mkdir(parents=True)
    (root / "cgroup.subtree_control").write_text("cpu memory pids\n")
    (root / "user.slice" / "cgroup.subtree_control").write_text(f"{handed_down}\n")
    (inside / "cgroup.subtree_control").write_text("\n")
    return root / "user.slice"


def made_in(parent: Path) -> list[Path]:
    return list(parent.glob("ackgap-*"))


def test_with_one_hierarchy_the_group_is_made_where_limits_are_handed_down(tmp_path):
    parent = unified(tmp_path, handed_down="memory pids")
    ControlGroup(processes=12, root=tmp_path, own="0::/user.slice/session.scope\n")
    [group] = made_in(parent)
    assert (group / "pids.max").read_text() == "12"


def test_with_one_hierarchy_that_hands_nothing_down_nearby_the_group_is_made_above(tmp_path):
    unified(tmp_path, handed_down="")
    ControlGroup(processes=12, root=tmp_path, own="0::/user.slice/session.scope\n")
    assert len(made_in(tmp_path)) == 1


def test_with_a_hierarchy_for_each_controller_there_is_a_group_in_each(tmp_path):
    for controller in ("memory", "pids"):
        (tmp_path / controller / "ours").mkdir(parents=True)
    own = "4:memory:/ours\n8:pids:/ours\n0::/\n"
    ControlGroup(memory_bytes=64 * MIB, processes=12, root=tmp_path, own=own)
    [memory], [processes] = (made_in(tmp_path / controller / "ours") for controller in ("memory", "pids"))
    assert (memory / "memory.limit_in_bytes").read_text() == str(64 * MIB)
    assert (processes / "pids.max").read_text() == "12"


def test_in_a_container_that_is_told_a_path_from_outside_the_group_is_made_at_its_root(tmp_path):
    (tmp_path / "pids").mkdir()
    ControlGroup(processes=12, root=tmp_path, own="8:pids:/docker/0123\n")
    assert len(made_in(tmp_path / "pids")) == 1


@pytest.mark.parametrize(
    ("own", "why"),
    [("", "do not let us limit processes"), ("0::/\n", "no group above this process hands down limits of processes")],
)
def test_where_no_group_can_be_made_it_is_said_why(tmp_path, own, why):
    with pytest.raises(NotPermitted, match=why):
        ControlGroup(processes=12, root=tmp_path, own=own)


def test_groups_of_harnesses_that_were_killed_are_removed(tmp_path):
    process = subprocess.Popen(["true"])
    process.wait()
    (tmp_path / "pids" / f"ackgap-{process.pid}-aa").mkdir(parents=True)
    (tmp_path / "pids" / f"ackgap-{os.getpid()}-bb").mkdir()
    ControlGroup(processes=12, root=tmp_path, own="8:pids:/\n")
    names = {path.name.rpartition("-")[0] for path in made_in(tmp_path / "pids")}
    assert names == {f"ackgap-{os.getpid()}"}


def test_a_group_that_is_not_empty_yet_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / "pids").mkdir()
    group = ControlGroup(processes=12, root=tmp_path, own="8:pids:/\n")
    [directory] = made_in(tmp_path / "pids")
    monkeypatch.setattr("ackgap.execute.control_group._REMOVE_LIMIT_S", 0.1)
    began_s = time.monotonic()
    group.close()  # pids.max is a plain file here, so that it cannot be removed
    assert 0.1 <= time.monotonic() - began_s < 5
    assert directory.exists()
