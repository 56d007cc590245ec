"""Installed as a wheel and editable: the command line from anywhere, and the plugin in a user's repository."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.slow
HEAVY = ("asyncio", "ackgap.session", "h11", "hypothesis", "psutil", "pydantic", "rich")


@pytest.fixture(params=["with_wheel", "with_editable"])
def installed(request):
    return request.getfixturevalue(request.param)


def test_the_installed_package_is_the_one_that_runs(with_wheel, with_editable, checkout, tmp_path):
    code = "import ackgap; print(ackgap.__file__)"
    from_wheel = with_wheel.run(with_wheel.python, "-c", code, directory=tmp_path).stdout
    from_checkout = with_editable.run(with_editable.python, "-c", code, directory=tmp_path).stdout
    assert from_wheel.startswith(str(with_wheel.site_packages))
    assert from_checkout.startswith(str(checkout))


def test_targets_and_scenarios_are_found_from_another_directory(installed, tmp_path):
    targets = installed.run("ackgap", "targets", directory=tmp_path).stdout
    assert "stripe" in targets
    assert "case-management" in targets
    scenarios = installed.run("ackgap", "list", directory=tmp_path).stdout
    assert "langgraph-ticket" in scenarios
    assert "known-answers/duplicate-broken" in scenarios
    assert "Stripe payments" in installed.run("python", "-m", "ackgap", "targets", "stripe", directory=tmp_path).stdout


@pytest.mark.parametrize("command", [("pytest",), ("python", "-m", "pytest")], ids=" ".join)
def test_the_plugin_works_beside_a_user_s_packages_of_the_same_names(installed, command, user_repository):
    done = installed.run(*command, "-p", "no:cacheprovider", "-k", "not careful", directory=user_repository, fails=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout


def test_a_failure_says_where_it_was_killed_what_happened_twice_why_and_how_to_see_it_again(
    with_wheel, user_repository
):
    done = with_wheel.run("pytest", "-n", "2", directory=user_repository, fails=True)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    text = re.sub(r"^E +", "", done.stdout, flags=re.MULTILINE)
    for said in (
        r"^duplicate: Two POST /tickets effects$",
        r"^ *killed at +tickets\.POST/tickets#1:applied@default$",
        r"^ *worker +\*? *sent no idempotency key",
        r"^ *target +\*? *was run without protection",
        r"^ *fix +\S",
        r"^ *again +ackgap replay (\S+) 'tickets\.POST/tickets#1:applied@default'$",
    ):
        assert re.search(said, text, re.MULTILINE), f"{said}\n{text}"
    assert (user_repository / "reports" / "test_careless" / "report.html").exists()
    directory = re.search(r"again +ackgap replay (\S+)", text)
    assert directory is not None
    cell = "tickets.POST/tickets#1:applied@default"
    again = with_wheel.run("ackgap", "replay", directory[1], cell, directory=user_repository, fails=True)
    assert again.returncode == 1
    assert "Reproduced: duplicate" in again.stdout


def test_the_plugin_can_be_switched_off(with_wheel, user_repository):
    done = with_wheel.run("pytest", "-p", "no:ackgap", directory=user_repository, fails=True)
    assert done.returncode == 1
    assert "fixture 'crash_matrix' not found" in done.stdout
    assert "1 passed" in done.stdout


def test_loading_the_plugin_imports_nothing_heavy(with_wheel, tmp_path):
    """Other plugins of the environment import what they like; they are left out, so that only ours is seen."""
    (tmp_path / "test_nothing.py").write_text("def test_nothing(): pass\n")
    code = f"""
import os, sys
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
import pytest
before = set(sys.modules)
status = pytest.main(["-q", "-p", "ackgap.pytest_plugin", "-p", "no:cacheprovider"])
print("status", int(status), [name for name in {HEAVY!r} if name in set(sys.modules) - before])
print("loaded", "ackgap.pytest_plugin" in sys.modules, "ackgap.matrix_run" in sys.modules)
"""
    done = with_wheel.run("python", "-c", code, directory=tmp_path)
    assert "status 0 []" in done.stdout, done.stdout
    assert "loaded True False" in done.stdout
