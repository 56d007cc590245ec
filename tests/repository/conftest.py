"""A frozen copy of the checkout, what is built from it, and fresh environments with that installed.

Things are built once for all test processes. Nothing is downloaded but the build backend.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
BUILT_FROM = (
    "harness", "targets", "scenarios", "tests", "docs", "benchmarks",
    "conftest.py", "Makefile", "CHANGELOG.md", "README.md", "LICENSE", "pyproject.toml", ".gitignore",
)  # fmt: skip
JUNK = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")
LIMIT_S = 300


def run(*command: str | Path, directory: Path, fails: bool = False, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a person's shell would: without what this pytest run put into the environment."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "ACKGAP_"))}
    inherited.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=directory, env=inherited | env, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    if not fails:
        assert done.returncode == 0, f"{command}: exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@dataclass(frozen=True)
class Environment:
    """A virtual environment without pip, that finds the dependencies where they are already."""

    path: Path

    @classmethod
    def make(cls, path: Path, *packages: Path) -> Environment:
        run(sys.executable, "-m", "venv", "--without-pip", path, directory=path.parent)
        environment = cls(path)
        # A path in a .pth file is searched last, and its own .pth files are not read: the editable installation of
        # the environment that runs these tests stays out.
        lines = "".join(f"{package}\n" for package in packages)
        (environment.site_packages / "dependencies.pth").write_text(lines)
        return environment

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.path)}))

    def install(self, *arguments: str | Path) -> None:
        pip = (sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet")
        run(*pip, "--disable-pip-version-check", *arguments, directory=self.path)

    def add_pytest_command(self) -> None:
        """Write the `pytest` command, as its installation would have: only the wheel of ackgap is installed here."""
        script = self.path / "bin" / "pytest"
        script.write_text(f"#!{self.python}\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n")
        script.chmod(0o755)

    def run(self, *command: str | Path, directory: Path, fails: bool = False) -> subprocess.CompletedProcess[str]:
        path = f"{self.path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return run(*command, directory=directory, fails=fails, PATH=path, VIRTUAL_ENV=str(self.path))


Share = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def share(tmp_path_factory: pytest.TempPathFactory) -> Share:
    """Return a function that makes a directory once for all test processes of this run."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    @contextmanager
    def alone(name: str) -> Iterator[None]:
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def shared(name: str, make: Callable[[Path], object]) -> Path:
        path, done = root / f"shared-{name}", root / f"shared-{name}.done"
        with alone(name):
            if not done.exists():
                shutil.rmtree(path, ignore_errors=True)
                path.mkdir()
                make(path)
                done.touch()
        return path

    return shared


@pytest.fixture(scope="session")
def checkout(share: Share) -> Path:
    """The checkout as it is now, so that what is built and what it is compared with are the same."""

    def make(path: Path) -> None:
        for name in BUILT_FROM:
            source = REPOSITORY / name
            if source.is_dir():
                shutil.copytree(source, path / name, ignore=JUNK)
            else:
                shutil.copy2(source, path / name)

    return share("checkout", make)


@pytest.fixture(scope="session")
def builder(share: Share) -> Environment:
    """An environment with the build backend."""

    def make(path: Path) -> None:
        environment = Environment.make(path / "venv", Path(sysconfig.get_path("purelib")))
        environment.install("hatchling>=1.26", "editables")

    return Environment(share("builder", make) / "venv")


def build(builder: Environment, kind: str, source: Path, out: Path) -> None:
    run(builder.python, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", out, source, directory=out)


@pytest.fixture(scope="session")
def wheel(share: Share, checkout: Path, builder: Environment) -> Path:
    (file,) = share("wheel", lambda out: build(builder, "wheel", checkout, out)).glob("*.whl")
    return file


@pytest.fixture(scope="session")
def sdist(share: Share, checkout: Path, builder: Environment) -> Path:
    (file,) = share("sdist", lambda out: build(builder, "sdist", checkout, out)).glob("*.tar.gz")
    return file


@pytest.fixture(scope="session")
def wheel_of_sdist(share: Share, sdist: Path, builder: Environment) -> Path:
    def make(path: Path) -> None:
        shutil.unpack_archive(sdist, path / "unpacked", filter="data")
        (source,) = (path / "unpacked").iterdir()
        build(builder, "wheel", source, path)

    (file,) = share("wheel-of-sdist", make).glob("*.whl")
    return file


@pytest.fixture(scope="session")
def with_wheel(share: Share, wheel: Path) -> Environment:
    """A fresh environment in which the wheel is installed."""

    def make(path: Path) -> None:
        environment = Environment.make(path / "venv", Path(sysconfig.get_path("purelib")))
        environment.install("--no-deps", wheel)
        environment.add_pytest_command()

    return Environment(share("with-wheel", make) / "venv")


@pytest.fixture(scope="session")
def with_editable(share: Share, checkout: Path, builder: Environment) -> Environment:
    """A fresh environment in which a checkout is installed editable."""

    def make(path: Path) -> None:
        environment = Environment.make(path / "venv", builder.site_packages, Path(sysconfig.get_path("purelib")))
        environment.install("--no-deps", "--no-build-isolation", "--editable", checkout)
        environment.add_pytest_command()

    return Environment(share("with-editable", make) / "venv")


AGENT = """
import json, os, urllib.request

def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)
"""
TICKET = '{"partner_id": "4471", "kind": "late-payment"}'


@pytest.fixture
def user_repository(tmp_path: Path) -> Path:
    """A user's repository, with packages of our folders' names; one of its tests must fail."""
    root = tmp_path / "user"
    files = {
        "conftest.py": "",
        "careless.py": f'{AGENT}\ncall("/tickets", {TICKET})\n',
        "careful.py": f'{AGENT}\nif not call("/tickets")["count"]:\n    call("/tickets", {TICKET})\n',
        "tests/test_agents.py": """
            import harness, targets, scenarios

            def run(crash_matrix, worker):
                return crash_matrix(worker=f"python {worker}", targets=["tickets=any"],
                                    env=["TICKETS_URL={tickets.url}"], points=["*:applied"])

            def test_packages_are_the_user_s_own():
                assert [harness.WHOSE, targets.WHOSE, scenarios.WHOSE] == ["user", "user", "user"]

            def test_careful(crash_matrix):
                run(crash_matrix, "careful.py").assert_exactly_once()

            def test_careless(crash_matrix):
                run(crash_matrix, "careless.py").assert_exactly_once()
            """,
    }
    for name in ("harness", "targets", "scenarios"):
        files[f"{name}/__init__.py"] = 'WHOSE = "user"\n'
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text))
    return root
