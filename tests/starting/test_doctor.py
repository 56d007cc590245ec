"""`ackgap doctor`: what it says is what is there, whatever is missing."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys

import pytest

from ackgap import cli
from ackgap.execute.containers import docker as engine_of
from ackgap.execute.containers.reaper import LeftOver
from ackgap.execute.isolation import can_isolate
from ackgap.starting import installed, machine


@pytest.fixture
def doctor(capsys):
    def run(*arguments: str) -> tuple[int, dict[str, dict]]:
        status = cli.main(["doctor", "--json", *arguments])
        document = json.loads(capsys.readouterr().out)
        assert document["ready"] == (status == 0)
        return status, {check["name"]: check for check in document["checks"]}

    return run


def test_this_machine_is_ready_and_each_finding_is_true(doctor):
    status, checks = doctor()
    assert status == 0
    assert checks["python"]["found"].startswith(platform.python_version())
    assert checks["own network"]["there"] == can_isolate()
    if checks["redis"]["there"]:
        program = checks["redis"]["found"].rpartition(" ")[2]
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        assert checks["redis"]["found"].partition(",")[0] in version


def test_whatever_is_missing_has_a_remedy(doctor):
    _, checks = doctor()
    assert [name for name, check in checks.items() if not check["there"] and not check["remedy"]] == []


def test_what_is_not_on_path_is_said_with_the_way_to_get_it(doctor, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("ackgap.execute.services.postgres._HOMES", ())
    status, checks = doctor()
    assert status == 0  # nothing of it is needed by the core
    for name in ("postgresql", "redis", "strace", "compiler", "chromium", "uv"):
        assert not checks[name]["there"], name
    assert checks["postgresql"]["remedy"].startswith("apt-get install postgresql")
    assert checks["redis"]["remedy"].startswith("apt-get install redis-server")


def test_a_server_is_found_where_it_is_put(doctor, monkeypatch, tmp_path):
    program = tmp_path / "redis-server"
    program.write_text("#!/bin/sh\necho 'Redis server v=9.8.7 sha=0'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    _, checks = doctor()
    assert checks["redis"]["found"] == f"9.8.7, {program}"


def test_a_program_that_does_not_answer_is_not_waited_for(monkeypatch, tmp_path):
    program = tmp_path / "redis-server"
    program.write_text("#!/bin/sh\nexec sleep 30\n")
    program.chmod(0o755)
    monkeypatch.setattr(installed, "_LIMIT_S", 0.1)
    assert installed._described(str(program)) == str(program)


def test_a_full_disk_is_what_nothing_works_with(doctor, monkeypatch):
    usage = machine.shutil.disk_usage("/")
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: usage._replace(free=1024))
    status, checks = doctor()
    assert status == 2
    assert checks["temporary files"]["core"]
    assert "TMPDIR" in checks["temporary files"]["remedy"]


def test_missing_packages_are_named(doctor, monkeypatch):
    real = machine._version
    monkeypatch.setattr(machine, "_version", lambda name: None if name == "h11" else real(name))
    status, checks = doctor()
    assert status == 2
    assert checks["packages"]["remedy"] == "pip install h11"


def test_a_kernel_that_gives_no_namespace_is_asked_why(monkeypatch):
    settings = {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"}
    monkeypatch.setattr(machine, "can_isolate", lambda: False)
    monkeypatch.setattr(machine, "_read", lambda path: settings.get(path, ""))
    monkeypatch.setattr(machine.sys, "platform", "linux")
    network = next(check for check in machine.kernel_checks() if check.name == "own network")
    assert not network.there
    assert not network.core
    assert network.remedy == "sysctl kernel.apparmor_restrict_unprivileged_userns=0"


def test_a_kernel_in_which_no_system_call_can_stand_is_told_with_what_does_without(monkeypatch):
    monkeypatch.setattr(machine, "lacking", lambda: "the kernel (4.9) refuses it")
    check = next(check for check in machine.kernel_checks() if check.name == "system calls")
    assert not check.there
    assert "the kernel (4.9) refuses it" in check.found
    assert "preload" in check.remedy


def test_the_engines_of_another_interpreter_are_its_own(doctor, tmp_path):
    bare = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    packages = next((bare / "lib").glob("python*/site-packages"))
    (packages / "dbos-1.2.3.dist-info").mkdir()
    (packages / "dbos-1.2.3.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: dbos\nVersion: 1.2.3\n")
    _, checks = doctor("--python", str(bare / "bin" / "python"))
    assert checks["dbos"]["found"] == "1.2.3"
    assert not checks["langgraph"]["there"]
    assert checks["langgraph"]["remedy"] == "pip install langgraph"


def test_an_interpreter_that_is_none_is_a_sentence(capsys):
    assert cli.main(["doctor", "--python", "/bin/true"]) == 2
    assert "cannot be asked" in capsys.readouterr().err
    assert cli.main(["doctor", "--python", "no-such-python"]) == 2
    assert "where: --python" in capsys.readouterr().err


def test_it_says_it_in_words_and_leaves_nothing_behind(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(machine.tempfile, "tempdir", str(tmp_path))
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "Ready." in out
    assert "Engines" in out
    assert list(tmp_path.iterdir()) == []


def test_it_takes_less_than_two_seconds_of_work():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "ackgap", "doctor"], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Of the processor, not of the clock: the machine may have other things to do.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2


def test_an_engine_that_does_not_answer_is_told_with_where_it_was_looked_for(doctor, monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    status, checks = doctor()
    assert status == 0  # only workers in containers need it
    assert not checks["docker"]["there"]
    assert f"unix://{tmp_path}/no.sock" in checks["docker"]["found"]
    assert "dockerd" in checks["docker"]["remedy"]


def test_what_dead_runs_have_left_in_the_engine_is_told(doctor, monkeypatch):
    class Engine:
        def version(self):
            return {"Version": "20.1"}

        def close(self):
            pass

    dead = {"ackgap.owner": "999999999:1.0", "ackgap.machine": engine_of.machine()}
    alive = {**dead, "ackgap.machine": "another machine"}
    things = [(LeftOver("container", "a"), dead), (LeftOver("network", "b"), dead), (LeftOver("network", "c"), alive)]
    monkeypatch.setattr("ackgap.execute.containers.reaper._ours", lambda api, label: iter(things))
    monkeypatch.setattr("ackgap.starting.docker.connect", lambda limit_s: Engine())
    _, checks = doctor()
    assert checks["docker"]["found"].startswith("20.1, its engine answers at ")
    assert checks["left in docker"]["found"] == "1 container, 1 network of runs whose harness was killed"
