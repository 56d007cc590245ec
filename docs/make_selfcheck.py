"""Run the self-check, keep the proofs that it finds, and write its figures into docs/selfcheck.md.

python docs/make_selfcheck.py [--prove] [SCENARIO ...]

With `--prove` nothing is taken from earlier proofs. Proofs and figures of a subject are written as soon as it is done;
those of subjects that are not named, or not installed, stay as they are.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ackgap.selfcheck.check import SelfCheck, SubjectResult
from ackgap.selfcheck.classify import Fate
from ackgap.selfcheck.proofs import Proofs, proofs_file
from ackgap.selfcheck.subjects import SUBJECTS
from ackgap.selfcheck.summary import Summary
from ackgap.support import cores

DOCUMENT = Path(__file__).resolve().parent / "selfcheck.md"
BEGIN, END = "<!-- made by docs/make_selfcheck.py -->", "<!-- end -->"
HEAD = (
    "| subject | cells ok | false alarms | caught | missed | remarked | equivalent | not viable |",
    "|---|---|---|---|---|---|---|---|",
)
FATES = (Fate.CAUGHT, Fate.MISSED, Fate.REMARKED, Fate.EQUIVALENT, Fate.NOT_VIABLE)


def row(result: SubjectResult) -> str:
    """Return a subject's line of the table."""
    summary = Summary([result])
    counts = [summary.ok_cells, summary.alarms, *(summary.fates.get(fate, 0) for fate in FATES)]
    return f"| `{result.subject.scenario}` | {' | '.join(map(str, counts))} |"


def with_row(text: str, result: SubjectResult) -> str:
    """Return the document with a subject's line in its place, and the sums."""
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    rows = dict(re.findall(r"^\| `(\S+)` (\|.*\|)$", table, re.MULTILINE))
    rows[result.subject.scenario] = row(result).partition("` ")[2]
    known = [subject.scenario for subject in SUBJECTS if subject.scenario in rows]
    lines = [BEGIN, "", *HEAD, *(f"| `{name}` {rows[name]}" for name in known), *sums(rows[name] for name in known)]
    return "\n".join([before.rstrip(), "", *lines, "", END]) + after


def sums(rows: Iterator[str]) -> list[str]:
    """Return the last line of the table."""
    columns = zip(*([int(cell) for cell in re.findall(r"\d+", each)] for each in rows), strict=True)
    return [f"| **together** | {' | '.join(str(sum(column)) for column in columns)} |"]


def main(arguments: list[str]) -> int:
    """Run and write; return 1 where something was missed or falsely accused."""
    names = [word for word in arguments if not word.startswith("--")]
    proofs = Proofs.read(proofs_file())
    chosen = [each for each in SUBJECTS if (not names or each.scenario in names)]
    passed = True
    with tempfile.TemporaryDirectory(prefix="ackgap-selfcheck-") as temporary:
        check = SelfCheck(
            directory=Path(temporary), jobs=cores(), proofs=Proofs() if "--prove" in arguments else proofs
        )
        for result in check.run(chosen):
            if result.skipped:
                print(f"{result.subject.scenario}: {result.skipped}", flush=True)
                continue
            print(row(result), flush=True)
            passed = passed and Summary([result]).passed
            equivalent = (
                (each.mutant, each.ruling.why, each.ruling.cells)
                for each in result.mutants
                if each.ruling.fate is Fate.EQUIVALENT
            )
            proofs = proofs.with_found(result.subject, result.circumstances, equivalent)
            proofs.write(proofs_file())
            DOCUMENT.write_text(with_row(DOCUMENT.read_text(encoding="utf-8"), result), encoding="utf-8")
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
