"""What a job of GitHub Actions shows of a run: annotations as workflow commands, and a summary that fits.

A workflow command is a line that the runner of a job obeys. What stands in it comes from workers and services, so it is
escaped as the runner reads it: nothing in it can end the line, the command or a property of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ackgap.model.verdict import Colour
from ackgap.report.derived import rate_text
from ackgap.report.findings import Problem, problems_of
from ackgap.report.plain import plain, replay_command
from ackgap.report.store import Run

__all__ = ["MOST_EACH", "SUMMARY_LIMIT_BYTES", "Annotation", "Level", "annotations_of", "capped", "fitting_summary"]

MOST_EACH = 10
"""So many annotations of a level are shown for one step; GitHub drops the others without a word."""
SUMMARY_LIMIT_BYTES = 1024 * 1024
"""Of all that one step writes into the summary of its job; GitHub drops a larger one altogether."""
_TITLE_CHARACTERS = 200
_MESSAGE_CHARACTERS = 4000
_NAMED = 3
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})
_CUT = "\n\n_The rest is left out: GitHub takes 1 MiB for each step. All of it is in `summary.md`._\n"


class Level(StrEnum):
    """How loud an annotation is; the word is that of the workflow command."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One annotation.

    Attributes:
        level: How loud.
        title: One line.
        message: Several, parted by line ends.
        file: That it is shown at, from the root of the repository; empty where none is known.
        line: In the file, from 1.
    """

    level: Level
    title: str
    message: str
    file: str = ""
    line: int = 1

    @property
    def command(self) -> str:
        """The line that the runner obeys."""
        place = {"file": self.file, "line": str(self.line)} if self.file else {}
        title = plain(self.title)[:_TITLE_CHARACTERS]
        properties = ",".join(
            f"{name}={value.translate(_PROPERTY)}" for name, value in {**place, "title": title}.items()
        )
        message = "\n".join(map(plain, self.message.split("\n")))[:_MESSAGE_CHARACTERS]
        return f"::{self.level} {properties}::{message.translate(_DATA)}"


def annotations_of(run: Run, *, about: str = "ackgap") -> tuple[Annotation, ...]:
    """Return an annotation for each kind of finding about each operation, over all variants, the worst first.

    Args:
        run: What was found.
        about: How a title begins.
    """
    grouped: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems_of(run):
        grouped.setdefault((problem.finding.code, problem.finding.operation, problem.known), []).append(problem)
    return tuple(_annotation(run, problems, about) for problems in grouped.values())


def _annotation(run: Run, problems: Sequence[Problem], about: str) -> Annotation:
    first = problems[0]
    origin = run.info.origin
    what = f"{first.finding.code.replace('_', ' ')} {first.finding.operation}".strip()
    return Annotation(
        level=_level(problems),
        title=f"{about}: {what}",
        message="\n".join(map(plain, _message(run, problems))),
        file=plain(origin.file),
        line=origin.line(first.variant, first.finding.operation),
    )


def _level(problems: Iterable[Problem]) -> Level:
    if all(problem.known for problem in problems):
        return Level.NOTICE
    return Level.ERROR if any(problem.fails for problem in problems) else Level.WARNING


def _message(run: Run, problems: Sequence[Problem]) -> Iterator[str]:
    finding = problems[0].finding
    yield finding.summary
    if problems[0].known:
        yield f"A known gap. {problems[0].known}"
    cells = [cell for problem in problems for cell in problem.cells]
    named = ", ".join(f"{cell.cell}{f' in {rate}' if (rate := rate_text(cell)) else ''}" for cell in cells[:_NAMED])
    more = f" and {len(cells) - _NAMED} more" if len(cells) > _NAMED else ""
    variants = f" in {len(problems)} variants" if len(problems) > 1 else ""
    yield f"{len(cells)} cell{'' if len(cells) == 1 else 's'}{variants}: {named}{more}"
    if finding.attribution is not None:
        for side, said in finding.attribution.sides:
            yield f"{side}: {said}"
    if problems[0].kind.colour is not Colour.GREEN:
        yield f"again: {replay_command(run.info.replay_prefix, cells[0].cell)}"


def capped(annotations: Iterable[Annotation]) -> Iterator[Annotation]:
    """Yield as many annotations of each level as are shown; where there are more, the last says how many."""
    by_level: dict[Level, list[Annotation]] = {level: [] for level in Level}
    for annotation in annotations:
        by_level[annotation.level].append(annotation)
    for level, found in by_level.items():
        if len(found) <= MOST_EACH:
            yield from found
            continue
        yield from found[: MOST_EACH - 1]
        left = found[MOST_EACH - 1 :]
        yield Annotation(
            level=level,
            title=f"ackgap: {len(left)} more findings",
            message="\n".join(
                ["GitHub shows ten for each step. The reports have all of them.", *(each.title for each in left)]
            ),
        )


def fitting_summary(text: str, *, taken_bytes: int) -> str:
    """Return a summary that fits, cut at the end of a line where it does not; empty where nothing fits any more.

    Args:
        text: Markdown.
        taken_bytes: What the step has written already.
    """
    room = SUMMARY_LIMIT_BYTES - taken_bytes
    if len(text.encode()) <= room:
        return text
    room -= len(_CUT.encode())
    kept: list[str] = []
    for line in text.splitlines(keepends=True):
        room -= len(line.encode())
        if room < 0:
            break
        kept.append(line)
    return "".join(kept).rstrip("\n") + _CUT if kept else ""
