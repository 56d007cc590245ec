"""Text that a worker, a target or a scenario brought in, made harmless inside GitHub-flavoured Markdown."""

from __future__ import annotations

import re

from ackgap.report.plain import plain

__all__ = ["code", "escaped"]

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&!$@])")
_LINKED = re.compile(r"(@)(?=\w)|(:)(?=//)|(?i:(?<=www)(\.))")
"""What becomes a link by itself, or calls a person; an escape does not prevent either."""
_NOTHING = "<!-- -->"


def escaped(text: str) -> str:
    """Return a text on one line that stays text: no markup, no HTML, no link, nobody mentioned."""
    marked = _LINKED.sub(lambda match: f"{match[0]}\0", plain(text))
    return _SPECIAL.sub(r"\\\1", marked).replace("\0", _NOTHING)


def code(text: str) -> str:
    """Return a code span; a bar would end a table's cell and a backtick the span."""
    kept = plain(text).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", kept)), default=0) + 1)
    padding = " " if kept.startswith("`") or kept.endswith("`") else ""
    return f"{fence}{padding}{kept}{padding}{fence}"
