"""The injector comes up before the user's code, and stays out of its way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OTHER_PYTHONS = sorted(
    str(python)
    for python in Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python")
    if tuple(int(part) for part in python.parents[1].name.split(".")[:2]) >= (3, 9)
)

EACH_PYTHON = pytest.mark.parametrize(
    "python", OTHER_PYTHONS or [pytest.param("", marks=pytest.mark.skip("no other interpreter"))]
)


def test_a_worker_says_hello_before_its_code_runs(supervisor):
    supervisor.run("print('ran')")
    (hello,) = supervisor.of_type("hello")
    assert hello["token"] == "token of this life"
    assert hello["pid"] == supervisor.workers[0].pid
    assert hello["ppid"] == os.getpid()
    assert hello["python"] == ".".join(map(str, sys.version_info[:3]))
    assert hello["clock_moved"] is False


def test_nothing_happens_without_a_channel(supervisor):
    out = supervisor.run("import sys; print('_ackgap_worker' in sys.modules)", ACKGAP_CHANNEL="")
    assert out == "False\n"
    assert supervisor.messages == []


def test_a_worker_that_cannot_see_the_socket_runs_as_if_there_were_none(supervisor):
    out = supervisor.run("open('state.json', 'w').write('x'); print('ran')", ACKGAP_CHANNEL="/nowhere/socket")
    assert out == "ran\n"
    assert supervisor.messages == []


def test_an_unreadable_configuration_is_reported_and_the_worker_runs(supervisor):
    worker = supervisor.start("print('ran')", ACKGAP_CONFIG="{broken")
    assert worker.communicate(timeout=20)[0] == "ran\n"
    assert "ACKGAP_CONFIG" in supervisor.wait_for(lambda message: message["type"] == "trouble")["text"]


def test_the_sitecustomize_of_the_user_still_runs(supervisor, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.seen = __file__\n")
    path = os.pathsep.join([supervisor.environment()["PYTHONPATH"], str(tmp_path)])
    out = supervisor.run("import sys, sitecustomize; print(sys.seen, sitecustomize.__file__)", PYTHONPATH=path)
    assert out.split() == [str(tmp_path / "sitecustomize.py")] * 2
    assert len(supervisor.of_type("hello")) == 1


def test_a_failure_in_the_sitecustomize_of_the_user_shows_as_it_would_without_us(supervisor, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('mine')\n")
    path = os.pathsep.join([supervisor.environment()["PYTHONPATH"], str(tmp_path)])
    worker = supervisor.start("print('ran')", PYTHONPATH=path)
    out, err = worker.communicate(timeout=20)
    assert out == "ran\n"
    assert "ValueError: mine" in err


def test_no_module_of_the_user_is_shadowed(supervisor):
    modules = ("channel", "config", "guard", "files", "clock", "sql", "names", "bootstrap", "announcer", "imports")
    for name in modules:
        (supervisor.workspace.parent / f"{name}.py").write_text("mine = True\n")
    out = supervisor.run(f"import {', '.join(modules)}, sys; print(channel.mine, guard.mine, sql.mine, sys.path[0])")
    assert out == f"True True True {supervisor.workspace.parent}\n"


def stand_in(supervisor, name, code):
    """Put a module in front of the library's own of that name."""
    path = supervisor.workspace.parent / name
    path.parent.mkdir(parents=True)
    path.write_text(code)
    for directory in (path.parent, *path.parent.parents):
        if directory == supervisor.workspace.parent:
            return
        (directory / "__init__.py").touch()


def test_a_library_whose_private_names_have_moved_is_reported_and_works(supervisor):
    stand_in(supervisor, "aiosqlite/core.py", "works = True\n")
    stand_in(supervisor, "httpcore/_sync/http11.py", "class HTTP11Connection: pass\nworks = True\n")
    stand_in(supervisor, "langgraph/pregel/_executor.py", "works = True\n")
    code = """
        import importlib
        for name in ("aiosqlite.core", "httpcore._sync.http11", "langgraph.pregel._executor"):
            module = importlib.import_module(name)
            print(module.works, module.__spec__.loader.__dict__.keys() & {"exec_module"})
    """
    worker = supervisor.start(code)
    assert worker.communicate(timeout=20) == ("True set()\n" * 3, "")
    troubles = [one["text"] for one in supervisor.of_type("trouble")]
    assert [text.partition(" ")[0] for text in troubles] == [
        "aiosqlite.core",
        "httpcore._sync.http11",
        "langgraph.pregel._executor",
    ]


@EACH_PYTHON
def test_savers_are_hooked_in_any_python(supervisor, python):
    stand_in(
        supervisor,
        "langgraph/checkpoint/base.py",
        """
from typing import Generic, TypeVar
V = TypeVar("V")
class BaseCheckpointSaver(Generic[V]):
    def put(self, config, checkpoint, metadata, new_versions): raise NotImplementedError
    def put_writes(self, config, writes, task_id, task_path=""): raise NotImplementedError
    async def aput(self, config, checkpoint, metadata, new_versions): raise NotImplementedError
    async def aput_writes(self, config, writes, task_id, task_path=""): raise NotImplementedError
class Early(BaseCheckpointSaver[int]):
    def put(self, config, checkpoint, metadata, new_versions): return "put"
""",
    )
    supervisor.run(
        """
        import asyncio
        from langgraph.checkpoint.base import BaseCheckpointSaver, Early

        class Late(Early):
            async def aput_writes(self, config, writes, task_id, task_path=""): return "aput_writes"

        config = {"configurable": {"checkpoint_ns": ""}}
        assert Late().put(config, {}, {"source": "loop", "step": 3}, {}) == "put"
        call = Late().aput_writes(config, [("x", 1)], "id", task_path="~__pregel_pull, node")
        assert asyncio.run(call) == "aput_writes"
        """,
        python=python,
    )
    assert supervisor.said() == [
        "committing langgraph.put.step3",
        "committed langgraph.put.step3",
        "committing langgraph.put_writes.node",
        "committed langgraph.put_writes.node",
    ]


def test_an_exception_in_an_import_is_the_users_to_see(supervisor):
    stand_in(supervisor, "aiosqlite/core.py", "1 / 0\n")
    out = supervisor.run(
        """
        for attempt in range(2):
            try:
                import aiosqlite.core
            except ZeroDivisionError as error:
                print("seen", "_ackgap" not in repr(error.__traceback__.tb_frame))
        """
    )
    assert out == "seen True\n" * 2


def test_ackgap_itself_is_not_imported(supervisor):
    out = supervisor.run("import sys; print([name for name in sys.modules if name.startswith('ackgap')])")
    assert out == "[]\n"


def test_libraries_are_not_imported_before_the_user_imports_them(supervisor):
    names = ["http.client", "socket", "asyncio", "sqlite3", "threading", "tempfile", "shutil", "datetime", "ctypes"]
    out = supervisor.run(f"import sys; print([name for name in {names} if name in sys.modules])")
    without = subprocess.run(
        [sys.executable, "-c", f"import sys; print([name for name in {names} if name in sys.modules])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert out == without.stdout


@EACH_PYTHON
def test_it_works_in_an_interpreter_without_ackgap(supervisor, service, python):
    out = supervisor.run(
        """
        import json, os, sqlite3, sys, urllib.request
        try:
            import ackgap
        except ImportError:
            print("no ackgap")
        print(urllib.request.urlopen(sys.argv[1] + "/json").read().decode())
        with open("state.json", "w") as file:
            json.dump({"x": 1}, file)
        os.replace("state.json", "final.json")
        connection = sqlite3.connect("agent.db")
        with connection:
            connection.execute("CREATE TABLE t (x)")
        with connection:
            connection.execute("INSERT INTO t VALUES (1)")
        connection.close()
        """,
        service.url,
        python=python,
    )
    assert out == 'no ackgap\n{"answer": 42}\n'
    assert supervisor.said() == [
        "sending GET /json",
        "returned GET /json",
        "committing file.state.json.write",
        "committed file.state.json.write",
        "committing file.final.json.replace",
        "committed file.final.json.replace",
        "committing sqlite.agent.db.commit",
        "committed sqlite.agent.db.commit",
        "committing sqlite.agent.db.commit",
        "committed sqlite.agent.db.commit",
    ]


def test_a_forked_child_says_hello_and_announces_on_its_own_connection(supervisor):
    supervisor.run(
        """
        import os, sys
        open("parent.json", "w").write("x")
        pid = os.fork()
        if pid == 0:
            open("child.json", "w").write("x")
            os._exit(0)
        os.waitpid(pid, 0)
        open("parent.json", "w").write("y")
        """
    )
    parent, child = supervisor.of_type("hello")
    assert child["ppid"] == parent["pid"] == supervisor.workers[0].pid
    assert supervisor.said().count("committed file.child.json.write") == 1
    assert supervisor.said().count("committed file.parent.json.write") == 2


def test_a_python_subprocess_says_hello_for_itself(supervisor):
    supervisor.run("import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'], check=True)")
    parent, child = supervisor.of_type("hello")
    assert child["ppid"] == parent["pid"]


@pytest.mark.parametrize(
    "python", [python for python in OTHER_PYTHONS if "/3.12" in python or "/3.13" in python] or [sys.executable]
)
def test_forking_after_an_announcement_makes_python_warn_of_no_threads(supervisor, python):
    supervisor.run(
        """
        import os, warnings
        warnings.simplefilter("always", DeprecationWarning)
        for number in range(5):
            open("state.json", "w").write("x")
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
        """,
        python=python,
    )
    assert supervisor.said().count("committed file.state.json.write") == 5


def test_multiprocessing_workers_announce_themselves(supervisor):
    supervisor.run(
        """
        import multiprocessing

        def work(number):
            with open(f"{number}.json", "w") as file:
                file.write("x")

        if __name__ == "__main__":
            for method in ("fork", "spawn"):
                with multiprocessing.get_context(method).Pool(1) as pool:
                    pool.map(work, [method])
                    pool.close()
                    pool.join()
        """
    )
    assert {"committed file.fork.json.write", "committed file.spawn.json.write"} <= set(supervisor.said())


def test_a_worker_whose_harness_has_died_ends_at_once(supervisor):
    supervisor.hold(lambda one: one["name"] == "file.second.json.write")
    worker = supervisor.start(
        """
        open("first.json", "w").write("x")
        print("parked", flush=True)
        open("second.json", "w").write("x")
        print("went on")
        """
    )
    supervisor.wait_for_write("committing", "file.second.json.write")
    supervisor.cut_off()
    out, _ = worker.communicate(timeout=20)
    assert (worker.returncode, out) == (70, "parked\n")


def test_a_process_that_closes_every_descriptor_connects_again(supervisor):
    supervisor.run(
        """
        import os
        open("before.json", "w").write("x")
        os.closerange(3, 256)
        keep = [open(os.devnull) for _ in range(20)]
        open("after.json", "w").write("x")
        print(open("after.json").read())
        for file in keep:
            file.close()
        """
    )
    assert "committed file.after.json.write" in supervisor.said()
    assert len(supervisor.of_type("hello")) == 2
