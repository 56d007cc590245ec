"""Two versions of one package side by side in a matrix, each in an environment that ackgap makes and keeps."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCENARIO = """
name = "versions"

[worker]
command = "python agent.py"
env = { TICKETS_URL = "{tickets.url}" }
store = ["done"]
requires = ["tiny"]
reset = "python seen.py reset"
finished_when = "python seen.py finished_when"

[targets.tickets]
profile = "any"

[prepare]
commands = ["python seen.py prepare", "tiny-says prepare"]

[client]
command = "python3 seen.py client"

[environments.old]
requirements = ["tiny==1.0"]

[environments.new]
requirements = ["tiny==2.0"]

[axes.version.values.old]
environment = "old"

[axes.version.values.new]
environment = "new"

[[checks]]
name = "the environment"
command = "python seen.py check"
"""

AGENT = """
import json, os, sys, urllib.request
from pathlib import Path

import tiny

if not Path("done").exists():
    body = {"version": tiny.VERSION, "home": os.environ["VIRTUAL_ENV"], "python": sys.prefix}
    request = urllib.request.Request(
        os.environ["TICKETS_URL"] + "/tickets", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    urllib.request.urlopen(request).read()
    Path("done").write_text("x")
"""

SEEN = """
import os, sys
from pathlib import Path

import tiny

who = sys.argv[1]
with open(os.environ["SEEN"], "a") as file:
    file.write(f"{who} {tiny.VERSION}\\n")
if who == "finished_when":
    sys.exit(0 if Path("done").exists() else 1)
"""


def write_wheel(folder: Path, version: str) -> None:
    """Write a package `tiny` with a command of its own, as an index would hand it out."""
    folder.mkdir(exist_ok=True)
    home = f"tiny-{version}.dist-info"
    says = "import os\ndef main():\n    open(os.environ['SEEN'], 'a').write(f'tiny-says {VERSION}\\n')\n"
    files = {
        "tiny.py": f"VERSION = '{version}'\n{says}",
        f"{home}/METADATA": f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n",
        f"{home}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{home}/entry_points.txt": "[console_scripts]\ntiny-says = tiny:main\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{home}/RECORD"))
    with zipfile.ZipFile(folder / f"tiny-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, f"{home}/RECORD": record}.items():
            wheel.writestr(name, text)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Wheels, and a place for the environments that these tests have in common."""
    folder = tmp_path_factory.mktemp("environments")
    for version in ("1.0", "2.0"):
        write_wheel(folder / "wheels", version)
    return folder


@pytest.fixture
def offline(shared, tmp_path, monkeypatch):
    """An index of the user's own, which the variables of pip name."""
    monkeypatch.setenv("PIP_FIND_LINKS", str(shared / "wheels"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("ACKGAP_CACHE", str(shared / "cache"))
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
    return shared


def test_each_variant_has_the_version_of_its_environment_in_every_command(project, offline):
    project.write("scenario.toml", SCENARIO)
    project.write("agent.py", AGENT)
    project.write("seen.py", SEEN)
    outcome = project.ackgap("run", ".", "--warm", "--fail-on", "never", "--point", "tickets.*:applied", limit_s=600)
    assert outcome.status == 0, outcome.err
    run = json.loads((outcome.directory / "run.json").read_text())
    assert {name: run["versions"][name] for name in ("old: tiny", "new: tiny")} == {
        "old: tiny": "1.0",
        "new: tiny": "2.0",
    }
    for variant, version in (("version=old", "1.0"), ("version=new", "2.0")):
        cell = f"tickets.POST/tickets#1:applied@{variant}"
        assert outcome.verdicts[cell] == "duplicate"
        history = json.dumps(outcome.history(cell))
        assert f'"version": "{version}"' in history
        assert history.count(str(offline / "cache")) >= 2
        assert "not forked from a warm parent" not in history
    seen = Path(os.environ["SEEN"]).read_text().split("\n")
    for who in ("reset", "prepare", "tiny-says", "client", "finished_when", "check"):
        assert f"{who} 1.0" in seen
        assert f"{who} 2.0" in seen
    again = project.ackgap("replay", "out", "tickets.POST/tickets#1:applied@version=old")
    assert "Reproduced: duplicate" in again.out
    assert "making" not in again.err


def test_what_the_worker_requires_is_looked_for_in_each_environment(project, offline):
    project.write("scenario.toml", SCENARIO.replace('requires = ["tiny"]', 'requires = ["tiny", "nothing_like_it"]'))
    project.write("agent.py", AGENT)
    project.write("seen.py", SEEN)
    outcome = project.ackgap("run", ".", "--only", "version=new", limit_s=600)
    assert outcome.status == 2
    assert "needs nothing_like_it" in outcome.err
    assert "key environments.new.requirements" in outcome.err
    assert "environment old" not in outcome.err


def test_a_version_that_there_is_not_is_told_before_anything_runs(project, offline):
    project.write("scenario.toml", SCENARIO.replace("tiny==2.0", "tiny==99"))
    project.write("agent.py", AGENT)
    project.write("seen.py", SEEN)
    outcome = project.ackgap("run", ".", "--only", "version=new", "--quiet", limit_s=600)
    assert outcome.status == 2
    assert "the environment 'new' cannot be made" in outcome.err
    assert "tiny==99" in outcome.err
    assert "scenario.toml, key environments.new.requirements" in outcome.err
    assert "making" not in outcome.err
    assert not Path(os.environ["SEEN"]).exists()


PAIR = """
name = "pair"
[worker]
command = "python agent.py"
env = { TICKETS_URL = "{tickets.url}" }
[targets.tickets]
profile = "any"
[environments.old]
requirements = ["idna==3.4"]
[environments.new]
requirements = ["idna==3.10"]
[axes.version.values.old]
environment = "old"
[axes.version.values.new]
environment = "new"
"""


def test_two_versions_of_a_public_package_are_run_side_by_side(project, tmp_path, monkeypatch):
    monkeypatch.setenv("ACKGAP_CACHE", str(tmp_path / "cache"))
    project.write("scenario.toml", PAIR)
    project.write("agent.py", AGENT.replace("import tiny", "import idna").replace("tiny.VERSION", "idna.__version__"))
    outcome = project.ackgap("run", ".", "--fail-on", "never", "--point", "tickets.*:applied", limit_s=600)
    if "could not be reached" in outcome.err and os.environ.get("CI") != "true":
        pytest.skip("the public index cannot be reached from here")
    assert outcome.status == 0, outcome.err
    for variant, version in (("version=old", "3.4"), ("version=new", "3.10")):
        cell = f"tickets.POST/tickets#1:applied@{variant}"
        assert outcome.verdicts[cell] == "duplicate"
        assert f'"version": "{version}"' in json.dumps(outcome.history(cell))
