"""What the documents say is what the program does."""

from __future__ import annotations

import argparse
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from ackgap import cli
from ackgap.cli import arguments
from ackgap.model.verdict import GLYPHS, VerdictKind
from ackgap.target.profiles.profile import load_profile

REPOSITORY = Path(__file__).parents[2]
COMMAND_LINE = (REPOSITORY / "docs" / "command-line.md").read_text()


def parsers() -> dict[str, argparse.ArgumentParser]:
    parser = arguments.make_parser()
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {"": parser, **commands.choices}


def options() -> Iterator[tuple[str, str]]:
    for command, parser in parsers().items():
        for action in parser._actions:
            for option in action.option_strings:
                yield command, option


@pytest.mark.parametrize(("command", "option"), [*options()])
def test_each_option_is_documented(command, option):
    assert re.search(rf"{re.escape(option)}\b", COMMAND_LINE), f"ackgap {command} {option}"


def test_each_documented_option_exists():
    plugin = (REPOSITORY / "harness" / "ackgap" / "pytest_plugin.py").read_text()
    known = {option for _, option in options()} | set(re.findall(r'"(--[a-z-]+)"', plugin))
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", COMMAND_LINE)) <= known


@pytest.mark.parametrize("command", [command for command in parsers() if command])
def test_each_command_is_documented(command):
    assert f"ackgap {command}" in COMMAND_LINE


def test_the_options_of_the_pytest_plugin_are_documented():
    plugin = (REPOSITORY / "harness" / "ackgap" / "pytest_plugin.py").read_text()
    found = re.findall(r'"(--ackgap-[a-z]+)"', plugin)
    assert found
    assert [option for option in found if option not in COMMAND_LINE] == []


def test_exit_statuses_are_documented_as_the_program_has_them():
    documented = {int(status) for status in re.findall(r"^\| (\d+) \|", COMMAND_LINE, re.MULTILINE)}
    assert cli.__doc__ is not None
    in_help = {int(status) for status in re.findall(r"(?<!\w)(\d+)  \S", cli.__doc__)}
    assert documented == in_help == {0, 1, 2, 3, 4, 130, 143}


@pytest.mark.parametrize("kind", VerdictKind)
def test_each_verdict_is_documented_with_its_glyph(kind):
    readme = (REPOSITORY / "README.md").read_text()
    assert f"| {GLYPHS[kind]} | `{kind}` |" in readme
    assert f"`{kind}`" in (REPOSITORY / "docs" / "verdicts.md").read_text()


def test_the_architecture_names_each_room():
    text = (REPOSITORY / "docs" / "architecture.md").read_text()
    package = REPOSITORY / "harness" / "ackgap"
    rooms = [f"`{path.parent.name}/`" for path in package.glob("*/__init__.py")]
    rooms += [f"`{path.name}`" for path in package.glob("*.py") if not path.name.startswith("__")]
    assert [room for room in rooms if room not in text] == []


def generator(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_profiles_is_what_the_program_reads():
    module = generator("make_profile_reference")
    assert module.REFERENCE.read_text() == module.reference(), "run python docs/make_profile_reference.py"


def test_the_example_of_a_profile_is_one(tmp_path):
    file = tmp_path / "desk.toml"
    file.write_text(generator("make_profile_reference").EXAMPLE)
    profile = load_profile(file)
    assert [operation.name for operation in profile.operations] == ["create", "find"]
    assert profile.protections["reference"].guards(profile.operations[0])


def test_the_catalogue_of_targets_is_what_the_profiles_say():
    module = generator("make_targets")
    assert module.CATALOGUE.read_text() == module.catalogue(), "run python docs/make_targets.py"
    for profile in module.profile_names():
        loaded = module.load_profile(profile)
        text = module.CATALOGUE.read_text()
        for source in loaded.sources:
            assert source.claim.replace("|", "\\|") in text
            assert source.date in text
        for operation in loaded.operations:
            assert f"| `{operation.name}` |" in text
        for protection in loaded.protections:
            assert f"### {profile}: {protection}" in text


def test_links_between_documents_lead_somewhere():
    broken = []
    for document in [
        *REPOSITORY.glob("*.md"),
        *(REPOSITORY / "docs").glob("*.md"),
        *(REPOSITORY / "scenarios").rglob("*.md"),
    ]:
        text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(<?([^)>\s]+)", text):
            path, _, _ = link.partition("#")
            if path and not re.match(r"[a-z]+:", path) and not (document.parent / path).exists():
                broken.append(f"{document.relative_to(REPOSITORY)}: {link}")
    assert broken == []
