"""An environment is made once, whole or not at all, and what cannot be made is told in a sentence."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ackgap.environments.cache import cache_directory, with_environments
from ackgap.errors import EnvironmentLacks
from ackgap.scenario.environment import EnvironmentSpec
from ackgap.scenario.scenario import Axis, AxisValue, Scenario, WorkerSpec

LIMIT_S = 60.0
PIP_SAYS = """ERROR: Could not find a version that satisfies the requirement idna==99 (from versions: 3.4)
ERROR: No matching distribution found for idna==99

[notice] A new release of pip is available
"""
UV_SAYS = """Using Python 3.11.7 environment at: place
error: No solution found when resolving dependencies
  cause: Because there is no version of idna==99.
"""
NO_INDEX = """WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError()'
ERROR: No matching distribution found for idna==3.4
"""


def scenario(folder: Path, **requirements: list[str]) -> Scenario:
    """A scenario whose axis `version` has a value for each environment."""
    return Scenario(
        name="versions",
        worker=WorkerSpec(command=("python", "agent.py")),
        targets=(),
        axes=(
            Axis(
                name="version",
                title="Version",
                values=tuple(AxisValue(name=name, environment=name) for name in requirements),
            ),
        ),
        environments=tuple(
            EnvironmentSpec(name=name, requirements=tuple(lines), folder=folder) for name, lines in requirements.items()
        ),
        source="agent/scenario.toml",
    )


def make(given: Scenario, *, tell=lambda text: None) -> Path:
    """Make the environments of every variant, and return the first."""
    made = with_environments(given, list(given.variants()), tell=tell).environments[0].directory
    assert made is not None
    return made


def test_an_environment_is_made_once_and_found_again(installer, tmp_path):
    told: list[str] = []
    first = make(scenario(tmp_path, old=["idna==3.4", "httpx"]), tell=told.append)
    assert [text.partition(" ")[0] for text in told] == ["making", "made"]
    assert make(scenario(tmp_path, other=["httpx", "idna==3.4"]), tell=told.append) == first
    assert (installer.installs, len(told)) == (1, 2)
    assert first.is_relative_to(tmp_path / "cache" / "environments")


def test_only_environments_of_variants_that_run_are_made(installer, tmp_path):
    given = scenario(tmp_path, old=["idna==3.4"], new=["idna==3.10"])
    variant = list(given.variants())[1]
    old, new = with_environments(given, [variant], tell=lambda text: None).environments
    assert old.directory is None
    assert new.directory is not None
    assert installer.installs == 1


@pytest.mark.parametrize("other", [["idna==3.5"], ["idna==3.4", "httpx"], ["./project"]])
def test_other_requirements_are_another_environment(installer, tmp_path, other):
    assert make(scenario(tmp_path, one=["idna==3.4"])) != make(scenario(tmp_path, one=other))


def test_a_changed_local_project_is_another_environment(installer, tmp_path):
    file = tmp_path / "project" / "code.py"
    file.parent.mkdir()
    file.write_text("one")
    first = make(scenario(tmp_path, local=["./project"]))
    assert make(scenario(tmp_path, local=["./project"])) == first
    file.write_text("two")
    assert make(scenario(tmp_path, local=["./project"])) != first


def test_an_environment_whose_interpreter_is_gone_is_made_anew(installer, tmp_path):
    given = scenario(tmp_path, old=["idna==3.4"])
    python = make(given) / "bin" / "python"
    python.unlink()
    python.symlink_to(tmp_path / "removed")
    assert (make(given) / "bin" / "python").exists()
    assert installer.installs == 2


def test_of_two_who_need_it_at_once_one_makes_it_and_the_other_waits(installer, tmp_path):
    given = scenario(tmp_path, old=["idna==3.4"])
    told: queue.Queue[str] = queue.Queue()
    made: queue.Queue[Path] = queue.Queue()
    installer.hold()
    threads = [threading.Thread(target=lambda: made.put(make(given, tell=told.put)), daemon=True) for _ in range(2)]
    threads[0].start()
    installer.wait_until_half_way()
    threads[1].start()
    said = [told.get(timeout=LIMIT_S), told.get(timeout=LIMIT_S)]
    assert "waiting for another run" in said[1]
    installer.let_go()
    assert made.get(timeout=LIMIT_S) == made.get(timeout=LIMIT_S)
    assert installer.installs == 1


def test_a_build_that_was_killed_is_thrown_away_once_its_installer_is_gone_too(installer, tmp_path):
    given = scenario(tmp_path, old=["idna==3.4"])
    installer.hold()
    code = (
        "import sys\nfrom pathlib import Path\nsys.path.insert(0, sys.argv[1])\n"
        "from test_cache import make, scenario\nmake(scenario(Path(sys.argv[2]), old=['idna==3.4']))\n"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path)]
    with subprocess.Popen(command) as killed:
        installer.wait_until_half_way()
        killed.send_signal(signal.SIGKILL)
    told: queue.Queue[str] = queue.Queue()
    made: queue.Queue[Path] = queue.Queue()
    threading.Thread(target=lambda: made.put(make(given, tell=told.put)), daemon=True).start()
    # What the installer had started still stands there with the lock, and could still write.
    assert "waiting" in told.get(timeout=LIMIT_S)
    installer.let_go()
    place = made.get(timeout=LIMIT_S)
    assert not (place / "bin" / "half").exists()
    assert installer.installs == 2


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (PIP_SAYS, "No matching distribution found for idna==99"),
        (UV_SAYS, "No solution found when resolving dependencies: Because there is no version of idna==99"),
        (NO_INDEX, "No matching distribution found for idna==3.4 (its index could not be reached)"),
        ("something else\n", "something else"),
    ],
    ids=["pip", "uv", "no index", "neither"],
)
def test_what_cannot_be_made_says_what_the_installer_said_and_where_to_correct_it(installer, tmp_path, said, told):
    given = scenario(tmp_path, old=["idna==99"])
    installer.fail(said)
    with pytest.raises(EnvironmentLacks) as raised:
        make(given)
    assert raised.value.what == f"the environment 'old' cannot be made: {told}"
    assert raised.value.where == "agent/scenario.toml, key environments.old.requirements"
    log = Path(raised.value.next_step.rpartition(": ")[2])
    assert log.read_text().strip() == said.strip()
    installer.fail("")
    assert make(given).is_dir()
    assert not log.exists()


def test_a_python_that_is_not_here_is_named(installer, tmp_path):
    given = scenario(tmp_path, old=["idna"])
    spec = EnvironmentSpec(name="old", requirements=("idna",), python="3.99", folder=tmp_path)
    with pytest.raises(EnvironmentLacks, match=r"needs a Python that is not here: 3\.99") as raised:
        make(Scenario(name="x", worker=given.worker, targets=(), axes=given.axes, environments=(spec,), source="s"))
    assert raised.value.where == "s, key environments.old.python"


def test_a_cache_that_cannot_be_written_to_is_named(installer, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ACKGAP_CACHE", str(tmp_path / "file"))
    with pytest.raises(EnvironmentLacks, match="cannot be kept") as raised:
        make(scenario(tmp_path, old=["idna"]))
    assert "ACKGAP_CACHE" in raised.value.next_step


def test_settings_of_pip_are_told_to_uv_and_nothing_leads_to_another_place(installer, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "/one /two")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    make(scenario(tmp_path, old=["idna"]))
    seen = installer.variables
    assert seen["UV_INDEX_URL"] == "https://index.example/simple"
    assert seen["UV_FIND_LINKS"] == "/one,/two"
    assert not {"PIP_TARGET", "PYTHONPATH", "ACKGAP_CACHE"} & seen.keys()


def test_the_cache_is_where_the_user_says(monkeypatch, tmp_path):
    monkeypatch.setenv("ACKGAP_CACHE", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "mine"
    monkeypatch.delenv("ACKGAP_CACHE")
    assert cache_directory() == tmp_path / "shared" / "ackgap"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == tmp_path / ".cache" / "ackgap"
