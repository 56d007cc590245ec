"""One part of a run, told what to do on standard input: `python -m ackgap.cli.part`, on a worker of a cluster."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from ackgap.cli import carried_out
from ackgap.cli.run import run

__all__ = ["main"]


def main() -> int:
    """Run the part and return the exit status of `ackgap run`."""
    options = Namespace(**json.load(sys.stdin))
    return carried_out(lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
