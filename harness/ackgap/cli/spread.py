"""`ackgap run --dask`: the same run, in parts on a cluster."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from ackgap.cli.shown import show
from ackgap.distributed import run_on_cluster
from ackgap.errors import UsageInvalid
from ackgap.merge import merge_runs
from ackgap.report.store import Run

__all__ = ["spread"]

_ALONE = ("shard", "resume", "orders", "record")
"""What a run in parts cannot do."""


def spread(options: argparse.Namespace, directory: Path) -> Run:
    """Run all parts of what the options say, merge them, print the matrix, and return the run.

    Raises:
        AckgapError: As the parts raise it, or the cluster is not there.
    """
    for name in _ALONE:
        if getattr(options, name):
            raise UsageInvalid(f"--{name} needs all of a run in one place", where="--dask", next_step="leave one out")
    # What is done with the whole is not done with a part.
    given = {**vars(options), "dask": "", "expected": None, "write_expected": None}

    def tell(text: str) -> None:
        if not options.quiet:
            print(text, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="ackgap-parts-") as scratch:
        parts = run_on_cluster(options.dask, given, into=Path(scratch), tell=tell)
        result = merge_runs(parts, directory)
    show(result, directory)
    return result
