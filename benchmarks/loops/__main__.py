"""python -m loops MODULE: read lines `MODE STEPS`, do that much work for each, and answer with a line of JSON.

The first answer comes unasked and lists the modes. The others hold the seconds that the work took, and how many events
a server has written of it, or null.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from contextlib import ExitStack


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an engine prints must not get in between
    with ExitStack() as ends:
        modes = importlib.import_module(f"loops.{sys.argv[1]}").modes(ends)
        print(json.dumps(list(modes)), file=answers, flush=True)
        for line in sys.stdin:
            mode, _, steps = line.rstrip("\n").rpartition(" ")
            began = time.perf_counter()
            events = modes[mode](int(steps))
            took_s = time.perf_counter() - began
            print(json.dumps([took_s, events if isinstance(events, int) else None]), file=answers, flush=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # engines leave threads behind, and there is nothing to be seen to
