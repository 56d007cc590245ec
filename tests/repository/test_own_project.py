"""A user's project outside of this tree, with a `harness/` of its own: the wheel, `ackgap init`, pytest with xdist."""

from __future__ import annotations

import json
import textwrap

import pytest

pytestmark = pytest.mark.slow

FILES = {
    "pyproject.toml": """
        [project]
        name = "late-payments"
        version = "1.0"
        dependencies = ["httpx"]

        [project.scripts]
        late-payments = "late_payments.agent:main"

        [tool.pytest.ini_options]
        testpaths = ["tests"]
        """,
    "harness/__init__.py": 'WHOSE = "user"\n',
    "harness/targets.py": "raise SystemExit('nothing of a user is run by looking at it')\n",
    "late_payments/__init__.py": "",
    "late_payments/desk.py": """
        import os

        import httpx

        URL = os.environ.get("DESK_BASE_URL", "https://desk.example.org/api")


        def file(invoice, key):
            headers = {"Idempotency-Key": key} if key else {}
            httpx.post(f"{URL}/tickets", json={"invoice": invoice}, headers=headers, timeout=60).raise_for_status()
        """,
    "late_payments/agent.py": """
        import os

        import harness

        from late_payments import desk


        def main():
            assert harness.WHOSE == "user"
            desk.file("88", os.environ.get("TICKET_KEY"))
        """,
    "tests/test_harness.py": """
        import harness


        def test_the_folder_is_the_user_s():
            assert harness.WHOSE == "user"
        """,
}


@pytest.fixture(scope="module")
def project(tmp_path_factory, with_wheel):
    root = tmp_path_factory.mktemp("elsewhere") / "late-payments"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text))
    (root / "conftest.py").write_text("")
    with_wheel.run("ackgap", "init", directory=root)
    return root


def test_each_cell_is_a_test_of_the_project_and_the_red_one_says_why(project, with_wheel):
    done = with_wheel.run("pytest", "-q", "-n", "2", "--ackgap-warm", "on", directory=project, fails=True)
    assert done.returncode == 1, done.stdout + done.stderr
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert [line.partition("[")[2].partition("]")[0] for line in sorted(failed)] == [
        "desk.POST/api/tickets#1:applied@default",
        "desk.POST/api/tickets#1:returned@default",
    ], done.stdout
    assert "2 failed, 4 passed" in done.stdout
    assert "Two POST /api/tickets effects" in done.stdout
    assert "sent no idempotency key" in done.stdout


def test_the_command_line_says_the_same_of_the_project_and_the_fix_makes_it_green(project, with_wheel):
    file = project / "scenario.toml"
    text = file.read_text()
    try:
        keyed = text.replace('profile = "any"\n', 'profile = "any"\nprotection = "idempotency-key"\n')
        file.write_text(keyed.replace("[worker.env]\n", '[worker.env]\nTICKET_KEY = "invoice-88"\n'))
        with_wheel.run("ackgap", "run", ".", "--quiet", "--warm", "--out", "fixed", directory=project)
    finally:
        file.write_text(text)
    cells = [json.loads(line) for line in (project / "fixed" / "cells.jsonl").read_text().splitlines()]
    assert {cell["verdict"] for cell in cells} == {"ok"}
    assert len(cells) == 5
