"""Every error a user of ackgap can cause, one class per remedy.

A message says what was wrong, where (file and key), and what to do next. The doors (command line, pytest plugin)
print it without a traceback; anything else that escapes is a bug in ackgap.
"""

from __future__ import annotations

__all__ = [
    "AckgapError",
    "EnvironmentLacks",
    "HarnessFailed",
    "ProbeFailed",
    "ProfileInvalid",
    "ResultsInvalid",
    "ScenarioInvalid",
    "UsageInvalid",
]


class AckgapError(Exception):
    """What every error of this package derives from.

    Args:
        what: What was wrong, in one sentence.
        where: File, and key in it, or the command line option.
        next_step: What the user can do about it.
    """

    exit_status = 2

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.next_step = next_step

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.next_step:
            lines.append(f"  next:  {self.next_step}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.where, self.next_step))


def _rebuild(cls: type[AckgapError], what: str, where: str, next_step: str) -> AckgapError:
    return cls(what, where=where, next_step=next_step)


class UsageInvalid(AckgapError):
    """An option of the command line, a fixture or the API makes no sense: an unknown cell, axis or path."""


class ScenarioInvalid(AckgapError):
    """A `scenario.toml` cannot be read: unknown key, wrong type, a command that does not exist."""


class ProfileInvalid(AckgapError):
    """A target's profile cannot be read: unknown key, a protection rule that does not exist."""


class ProbeFailed(AckgapError):
    """The undisturbed run did not do what a probe must: it crashed, did nothing, never ended or wrote elsewhere.

    Common causes: the worker does not read the base URL from the environment variable given by `--env`; it needs a
    variable that is not set; it keeps its state outside its working directory.
    """


class ResultsInvalid(AckgapError):
    """A directory of results cannot be read or written."""


class EnvironmentLacks(AckgapError):
    """This machine lacks something that was asked for: an operating system, a program, a permission."""


class HarnessFailed(AckgapError):
    """ackgap itself could not do its part: a slot died, a port or the disk was not to be had."""

    exit_status = 3
