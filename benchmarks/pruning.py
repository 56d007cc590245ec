"""What pruning saves, and whether it changes a verdict: every scenario whole and pruned, side by side.

Prints a row for each scenario: cells, how many were not run because their crash state was that of another, and whether
every cell has the same verdict both ways. Where nothing can be saved it says why. Exits with status 1 if a verdict
differs, or a scenario fails. The output of one run is kept in pruning.txt.

python benchmarks/pruning.py [--write] [NAME ...]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import keep, machine

from ackgap.campaign.pruning import why_not_pruned
from ackgap.errors import AckgapError, EnvironmentLacks
from ackgap.matrix_run import run_matrix
from ackgap.scenario.load import load_scenario

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
SLICES = ("gap", "report", "demo", "deep")
"""The part of a scenario that tests run, where it has one; else all of it."""


def folders(names: list[str]) -> Iterator[Path]:
    """Yield the folder of every scenario, or of those that are named."""
    for file in sorted(SCENARIOS.glob("**/scenario.toml")):
        name = str(file.parent.relative_to(SCENARIOS))
        if not names or name in names:
            yield file.parent


def row(folder: Path) -> tuple[str, bool]:
    """Run a scenario both ways; return what to print, and whether the verdicts are the same."""
    name = str(folder.relative_to(SCENARIOS))
    scenario = load_scenario(folder)
    if reason := why_not_pruned(scenario):
        return f"{name:<48} never pruned: {reason}", True
    part = next((one.name for one in scenario.slices if one.name in SLICES), None)
    with tempfile.TemporaryDirectory(prefix="pruning-") as scratch:
        whole, pruned = (
            run_matrix(
                folder,
                root=Path(scratch),
                directory=Path(scratch) / f"pruned-{prune}",
                slice_name=part,
                warm=True,
                prune=prune,
            )
            for prune in (False, True)
        )
        bounds = pruned.run.info.bounds
        assert bounds is not None
        same = whole.verdicts == pruned.verdicts
        differ = [cell for cell in whole.verdicts if whole.verdicts[cell] != pruned.verdicts.get(cell)]
        saved = f"{bounds.equal / max(1, bounds.ran + bounds.equal):.0%}"
        verdicts = "same verdicts" if same else f"VERDICTS DIFFER: {', '.join(differ)}"
        counts = (
            f"{bounds.ran + bounds.equal:>5} cells, {bounds.equal:>4} not run ({saved:>3}), {bounds.audited:>3} checked"
        )
        return f"{name:<48} {counts}, {verdicts}", same


def main(arguments: list[str]) -> int:
    """Run every scenario, print a table, and return the exit status."""
    lines = [machine(), ""]
    print(*lines, sep="\n", flush=True)
    all_same = True
    for folder in folders([word for word in arguments if word != "--write"]):
        try:
            text, same = row(folder)
        except AckgapError as error:
            text = f"{folder.relative_to(SCENARIOS)!s:<48} could not be run: {error}".splitlines()[0]
            same = isinstance(error, EnvironmentLacks)
        all_same = all_same and same
        lines.append(text)
        print(text, flush=True)
    keep(__file__, lines, arguments)
    return 0 if all_same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
