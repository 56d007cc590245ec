"""Start a program as often as one is told, and wait until it gives up, or until one's own patience is over.

Settings, all from the environment, beside those of the program:
    PROGRAM   path of a Python program, and its arguments
    SERVER    likewise, of one that runs beside it and is ended with it; none if it is not set
    STARTS    how often the program is started, one start after the other
    LIMIT_S   seconds that each start may take
"""

import os
import shlex
import subprocess
import sys

LIMIT_S = float(os.environ["LIMIT_S"])


def start(program: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, *shlex.split(program)])


def end(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()


def how_it_ends() -> str:
    program = start(os.environ["PROGRAM"])
    try:
        return f"gave up with exit status {program.wait(LIMIT_S)}"
    except subprocess.TimeoutExpired:
        end(program)
        return f"still at it after {LIMIT_S:g} s"


def main() -> None:
    server = start(os.environ["SERVER"]) if "SERVER" in os.environ else None
    ends = [how_it_ends() for _ in range(int(os.environ["STARTS"]))]
    if server is not None:
        end(server)
    for number, text in enumerate(ends, 1):
        print(f"start {number}: {text}")


if __name__ == "__main__":
    main()
