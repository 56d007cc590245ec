"""docs/tutorial.md is followed to the letter in a fresh directory, and the wheel prints what it shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"<!-- (.*?) -->\n\n```\w*\n(.*?)```\n", re.DOTALL)
FENCE = re.compile(r"^```", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    order: str
    """What the comment before a block says is to be done with it."""
    text: str


def steps() -> list[Step]:
    return [Step(order, text) for order, text in BLOCK.findall(TUTORIAL.read_text())]


def shown(text: str) -> Iterator[str]:
    """Yield the lines of an output as they are compared: without times, and without what only fills up columns."""
    for line in text.splitlines():
        plain = re.sub(r"\bin \d+\.\d+s(?: \(\d+:\d\d:\d\d\))?|^ *\d+\.\d+ s ", "", line)
        if plain := " ".join(plain.split()).strip("= "):
            yield plain


def missing_from(output: str, expected: str) -> str:
    """Return the first line of what is expected that does not come, empty where all come in their order.

    Where nothing is left out between two lines, they have to follow each other.
    """
    lines, place, free = list(shown(output)), 0, True
    for wanted in shown(expected):
        if wanted == "...":
            free = True
            continue
        found = [
            number
            for number in range(place, len(lines))
            if lines[number] == wanted or (wanted.endswith(" ...") and lines[number].startswith(wanted[:-4]))
        ]
        if not found or (not free and found[0] != place):
            return wanted
        place, free = found[0] + 1, wanted.endswith(" ...")
    return ""


def carry_out(step: Step, directory: Path, environment) -> None:
    if match := re.fullmatch(r"file: (\S+)", step.order):
        (directory / match[1]).write_text(step.text)
    elif match := re.fullmatch(r"after `(.+)` in (\S+)", step.order):
        file = directory / match[2]
        before, line, after = file.read_text().rpartition(f"{match[1]}\n")
        assert line, f"{match[1]} is not in {match[2]}"
        file.write_text(before + line + step.text + after)
    elif match := re.fullmatch(r"from `(.+)` in (\S+)", step.order):
        file = directory / match[2]
        before, line, _ = file.read_text().partition(match[1])
        assert line, f"{match[1]} is not in {match[2]}"
        file.write_text(before + step.text)
    elif match := re.fullmatch(r"run(?:, exit (\d+))?", step.order):
        command, _, expected = step.text.partition("\n")
        done = environment.run(*shlex.split(command.removeprefix("$ ")), directory=directory, fails=True)
        said = f"{command}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == int(match[1] or 0), said
        missing = missing_from(done.stdout, expected)
        assert missing == "", f"not printed: {missing}\n{said}"
    else:
        assert step.order.startswith("not run: "), f"nobody knows what to do with {step.order!r}"


def test_each_block_says_what_is_to_be_done_with_it():
    assert len(FENCE.findall(TUTORIAL.read_text())) == 2 * len(steps())
    for step in steps():
        if step.order.startswith("run"):
            assert step.text.startswith("$ ")


@pytest.mark.parametrize(
    ("expected", "missing"),
    [
        ("one\ntwo\nthree", ""),
        ("one\n...\nthree", ""),
        ("...\ntwo", ""),
        ("x ...", "x ..."),
        ("one\ntwo ...", ""),
        ("one\nthree", "three"),
        ("two\none", "one"),
        ("four", "four"),
    ],
)
def test_what_is_not_printed_is_found(expected, missing):
    assert missing_from("one\n\n two  \nthree\n", expected) == missing


@pytest.mark.slow
def test_the_tutorial_can_be_followed(with_wheel, tmp_path):
    directory = tmp_path / "my-agent"
    directory.mkdir()
    for step in steps():
        carry_out(step, directory, with_wheel)
