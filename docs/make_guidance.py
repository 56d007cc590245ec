"""Write what helps against each verdict into docs/verdicts.md, in the words of `harness/ackgap/report/guidance.toml`.

python docs/make_guidance.py           write it
python docs/make_guidance.py --check   say whether it is up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from ackgap.model.verdict import VerdictKind
from ackgap.report.guidance import NOBODY, SIDES, guidance

DOCUMENT = Path(__file__).resolve().parent / "verdicts.md"
BEGIN, END = "<!-- made by docs/make_guidance.py from harness/ackgap/report/guidance.toml -->", "<!-- end -->"
_NAMES = {"worker": "the worker", "engine": "the engine", "target": "the service", NOBODY: "nobody named"}


def section() -> str:
    """Return the section, in Markdown."""
    lines = [BEGIN]
    for kind in VerdictKind:
        words = guidance()[kind]
        lines += [
            "",
            f"**`{kind.value}`.** {words.means}",
            "",
            "| who could have prevented it | what helps |",
            "|---|---|",
        ]
        lines += [f"| {_NAMES[side]} | {words.fix[side]} |" for side in SIDES]
    return "\n".join([*lines, "", END])


def made(text: str) -> str:
    """Return a document with the section made anew.

    Raises:
        ValueError: The document has no place for it.
    """
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"{DOCUMENT.name} has no lines {BEGIN} and {END}")
    return before + section() + after


def main(arguments: list[str]) -> int:
    """Write or check."""
    text = DOCUMENT.read_text(encoding="utf-8")
    if "--check" in arguments:
        return int(made(text) != text)
    DOCUMENT.write_text(made(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
