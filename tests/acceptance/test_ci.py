"""The workflows of docs/ci.md are valid, and every command in them is run; what a job of CI sees of a run."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from ackgap.cli import main
from ackgap.cli.arguments import make_parser

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "ci.md").read_text()
BINARIES = Path(sys.executable).parent
ANSWERS = REPOSITORY / "scenarios" / "known-answers"


def workflow(name: str) -> str:
    """Return the text of a file that the page shows, with what it shows of it later on."""
    blocks = re.findall(r"```yaml\n# (\S+?)(?:, continued)?\n(.*?)```", PAGE, re.DOTALL)
    return "".join(text for shown, text in blocks if shown == name)


GITHUB, GITLAB = (workflow(name) for name in (".github/workflows/crashes.yml", ".gitlab-ci.yml"))


def load(text: str) -> dict[str, Any]:
    return dict(YAML(typ="safe", pure=True).load(text))


def scripts(document: dict[str, Any]) -> Iterator[str]:
    """Yield every shell script of a workflow of either system."""
    for job in document.get("jobs", {}).values():
        yield from (step["run"] for step in job["steps"] if "run" in step)
    for job in document.values():
        if isinstance(job, dict):
            yield from job.get("script", ())


def commands(script: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of ackgap in a script."""
    plain = re.sub(r"\$\{\{.*?\}\}", "1", script)
    for found in re.findall(r"\backgap (.*?)(?=;|$)", plain, re.MULTILINE):
        yield shlex.split(re.sub(r"\$\w+", "1", found), comments=True)


# ------------------------------------------------------------------ the page


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (GITHUB, ["--builtin-schema", "vendor.github-workflows"]),
        (GITLAB, ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"]),
    ],
    ids=["GitHub", "GitLab"],
)
def test_a_workflow_is_valid_by_the_schema_of_its_system(text: str, options: list[str], tmp_path: Path) -> None:
    def check(written: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "workflow.yml").write_text(written)
        command = [BINARIES / "check-jsonschema", *options, "workflow.yml"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    done = check(text)
    assert done.returncode == 0, done.stdout + done.stderr
    assert check(text.replace("timeout", "time-out")).returncode == 1, "the schema would notice a mistake"


def test_every_command_on_the_page_is_one_that_ackgap_knows() -> None:
    found = [arguments for text in (GITHUB, GITLAB) for script in scripts(load(text)) for arguments in commands(script)]
    prose = re.sub(r"```yaml.*?```", "", PAGE, flags=re.DOTALL)
    shown = [line for block in re.findall(r"```\n(.*?)```", prose, re.DOTALL) for line in block.splitlines()]
    found += [arguments for line in shown for arguments in commands(line.partition(" > ")[0])]
    assert {arguments[0] for arguments in found} == {"run", "merge", "diff", "report", "badge"}
    assert len(found) >= 11
    parser = make_parser()
    for arguments in found:
        assert hasattr(parser.parse_args(arguments), "command_function"), arguments


def test_no_secret_reaches_the_code_of_a_fork() -> None:
    document = load(GITHUB)
    assert "pull_request_target" not in document["on"]
    assert document["permissions"] == {"contents": "read"}
    written = {name: job["permissions"] for name, job in document["jobs"].items() if "permissions" in job}
    assert written["badge"] == {"contents": "write"}
    assert "push" in document["jobs"]["badge"]["if"]
    assert written["whole"] == {"contents": "read", "security-events": "write"}


# ------------------------------------------------------------ running it all


@dataclass
class Machine:
    """One machine of a CI system: a clone of the user's repository, and what its jobs print."""

    clone: Path
    summary: Path
    said: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)

    def run(self, name: str, script: str, **env: str) -> int:
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
        values = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "CI_"))},
            "PATH": f"{BINARIES}{os.pathsep}{os.environ['PATH']}",
            **env,
        }
        done = subprocess.run(
            command, cwd=self.clone, env=values, capture_output=True, text=True, timeout=240, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
        self.said[name] = done.stdout + done.stderr
        self.statuses[name] = done.returncode
        return done.returncode


def machine(root: Path, answer: str) -> Machine:
    """Make a clone whose scenario is a known answer under the name that the page has for it."""
    scenario = root / "clone" / "scenarios" / "my-agent"
    shutil.copytree(ANSWERS / answer, scenario, ignore=shutil.ignore_patterns("__pycache__", "expected*"))
    file = scenario / "scenario.toml"
    file.write_text(re.sub(r'^name = ".*"', 'name = "my-agent"', file.read_text(), count=1))
    (root / "clone" / ".git").mkdir()
    return Machine(root / "clone", root / "summary.md")


def evaluated(script: str, values: dict[str, str]) -> str:
    """Put values in the place of a workflow's expressions; one without a value is a mistake of the test."""
    return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda match: values[match[1]], script)


def uploads(job: dict[str, Any], part: str) -> Iterator[tuple[str, str]]:
    for step in job["steps"]:
        if "upload-artifact" in step.get("uses", ""):
            values = {"matrix.part": part}
            yield evaluated(step["with"]["name"], values), evaluated(step["with"]["path"], values)


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The workflow of a pull request that breaks an agent: parts on machines of their own, and the whole."""
    root = tmp_path_factory.mktemp("github")
    jobs = load(GITHUB)["jobs"]
    whole = machine(root / "whole", "duplicate-broken")
    for number in map(str, jobs["part"]["strategy"]["matrix"]["part"]):
        one = machine(root / f"part{number}", "duplicate-broken")
        for step in jobs["part"]["steps"]:
            if "ackgap" in step.get("run", ""):
                script = evaluated(step["run"], {"matrix.part": number})
                assert one.run("part", script, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(one.summary)) == 0, (
                    one.said
                )
        whole.said[f"part {number}"] = one.said["part"]
        assert not one.summary.exists(), "a part says nothing of the whole"
        for name, path in uploads(jobs["part"], number):
            for step in jobs["whole"]["steps"]:
                if "download-artifact" in step.get("uses", "") and fnmatch.fnmatch(name, step["with"]["pattern"]):
                    shutil.copytree(one.clone / path, whole.clone / step["with"]["path"] / name)
    sound = machine(root / "main", "duplicate-correct")
    assert sound.run("main", "ackgap run scenarios/my-agent --quiet --out baseline") == 0, sound.said
    shutil.copytree(sound.clone / "baseline", whole.clone / "baseline")
    for step in jobs["whole"]["steps"]:
        script = step.get("run", "")
        if "ackgap" in script:
            whole.run(step["name"], script, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(whole.summary))
    return whole


@pytest.mark.slow
def test_the_workflow_for_github_joins_its_parts_and_fails_on_what_is_newly_red(github: Machine) -> None:
    assert github.statuses == {
        "Join the parts": 0,
        "Make the badge": 0,
        "Fail on what is newly red": 1,
        "Fail on what is red": 1,
    }
    lines = (github.clone / "reports/my-agent/cells.jsonl").read_text().splitlines()
    verdicts = [json.loads(line)["verdict"] for line in lines]
    assert (verdicts.count("duplicate"), verdicts.count("ok")) == (5, 4)
    assert "5 cells are newly red" in github.said["Fail on what is newly red"]
    assert "What was run differs: the scenario, the files." in github.said["Fail on what is newly red"]
    assert "duplicate: 5 of 9 cells red" in (github.clone / "reports/my-agent/badge.svg").read_text()


@pytest.mark.slow
def test_a_job_is_told_by_annotations_at_lines_of_the_scenario_and_by_a_summary(github: Machine) -> None:
    lines = github.said["Fail on what is newly red"].splitlines()
    (error,) = [line for line in lines if line.startswith("::error ")]
    scenario = (github.clone / "scenarios/my-agent/scenario.toml").read_text().splitlines()
    line = scenario.index("[targets.tickets]") + 1
    assert error.startswith(
        f"::error file=scenarios/my-agent/scenario.toml,line={line},title=ackgap%2C new%3A duplicate"
    )
    assert "ackgap replay reports/my-agent 'tickets.create#1" in error
    stopped = [text for text in lines if text.startswith("::stop-commands::")]
    words = [text.removeprefix("::stop-commands::") for text in stopped]
    assert len(set(words)) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", word) for word in words)
    place = lines.index(error)
    assert f"::{words[0]}::" in lines[:place], "the runner listens again before it is told"
    assert lines.index(stopped[1]) == place + 1, "and no longer than that"
    assert lines[0] == stopped[0]
    assert lines[-1] == f"::{words[1]}::"
    summary = github.summary.read_text()
    assert summary.startswith("## ackgap diff: ")
    assert "\n## ackgap: " in summary, "one after the other, as the steps ran"
    assert "::error" not in github.said["Join the parts"], "--github never"
    assert not re.search("^::(error|warning|notice)", github.said["part 1"], re.MULTILINE)


@pytest.mark.slow
def test_code_scanning_finds_the_line_and_no_directory_of_the_machine(github: Machine) -> None:
    text = (github.clone / "reports/my-agent/report.sarif").read_text()
    assert str(github.clone.parent.parent) not in text
    (result,) = json.loads(text)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "scenarios/my-agent/scenario.toml"
    scenario = (github.clone / "scenarios/my-agent/scenario.toml").read_text().splitlines()
    assert scenario[place["region"]["startLine"] - 1] == "[targets.tickets]"
    assert result["occurrenceCount"] == 5


@pytest.mark.slow
def test_the_pipeline_for_gitlab_joins_its_parts_and_fails_on_what_is_newly_red(github: Machine) -> None:
    jobs = load(GITLAB)
    here = machine(github.clone.parent.parent / "gitlab", "duplicate-broken")
    ours = load(GITHUB)["jobs"]["part"]
    (script,) = (step["run"] for step in ours["steps"] if "ackgap" in step.get("run", ""))
    for number in map(str, ours["strategy"]["matrix"]["part"]):
        # The same command, argument by argument, is not run again.
        values = {"CI_NODE_INDEX": number, "CI_NODE_TOTAL": str(jobs["part"]["parallel"])}
        assert here.run("part", f"printf '%s\\n' {jobs['part']['script'][0]}", **values) == 0
        assert here.said["part"].split("\n")[:-1] == shlex.split(evaluated(script, {"matrix.part": number}))
        shutil.copytree(github.clone / f"parts/part-{number}", here.clone / f"parts/{number}")
    assert here.run("whole", "\n".join(jobs["whole"]["script"])) == 0, here.said
    for path in jobs["whole"]["artifacts"]["paths"]:
        assert (here.clone / path).is_dir()
    assert (here.clone / jobs["whole"]["artifacts"]["reports"]["junit"]).is_file()
    # No server answers, so nothing of the default branch is there: all that is red counts.
    env = {"CI_API_V4_URL": "http://127.0.0.1:9/api", "CI_JOB_TOKEN": "x", "CI_PROJECT_ID": "1"}
    assert here.run("newly-red", "\n".join(jobs["newly-red"]["script"]), CI_DEFAULT_BRANCH="main", **env) == 1
    assert "×2 duplicate 5" in here.said["newly-red"]
    shutil.make_archive(str(here.clone / "main"), "zip", here.clone, "reports")
    decide = jobs["newly-red"]["script"][1:]
    assert here.run("as before", "\n".join(decide)) == 0
    assert "Nothing changed." in here.said["as before"]
    assert here.run("red", "\n".join(jobs["red"]["script"])) == 1


# ------------------------------------------------------------- mistakes of users


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("diff nowhere reports/my-agent", "No results of a run can be read here"),
        ("diff baseline parts/part-1", "a whole run and part 1/2 cannot be compared"),
        ("diff baseline reports/my-agent --fail-on blue", "'blue' is not a verdict"),
        ("badge parts/part-2 badge.svg", "part 2/2 of a run, of which there is no badge"),
        ("badge reports/my-agent badge.png", "name a file that ends in .svg"),
        ("badge reports/my-agent scenarios/my-agent/scenario.toml/badge.svg", "the badge cannot be written"),
        ("report reports/my-agent --fail-on blue", "'blue' is not a verdict"),
    ],
)
def test_mistakes_are_told_in_words(
    github: Machine, command: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(github.clone)
    assert main(shlex.split(command)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "  where: " in error


@pytest.mark.slow
def test_a_document_stays_one_while_the_job_is_told(github: Machine) -> None:
    here = Machine(github.clone, github.summary)
    assert here.run("json", "ackgap diff baseline reports/my-agent --format json --github always 2> told") == 1
    assert len(json.loads(here.said["json"])["newly_red"]) == 5
    assert (here.clone / "told").read_text().startswith("::error ")


@pytest.mark.slow
def test_a_summary_that_cannot_be_written_is_told_and_changes_nothing(github: Machine) -> None:
    here = Machine(github.clone, github.summary)
    script = "ackgap diff baseline baseline"
    assert here.run("told", script, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(github.clone)) == 0
    assert "the summary of the job cannot be written" in here.said["told"]
