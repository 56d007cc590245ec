"""The command line: arguments to calls, and what comes back to an exit status.

0  nothing red, nothing inconclusive        2  the user's mistake
1  at least one red verdict                 3  only inconclusive, or the harness itself failed
130  interrupted; what had finished is reported
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ackgap import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "command_function"):
        parser.print_help()
        return 2
    from ackgap.errors import AckgapError
    from ackgap.support import check_platform

    try:
        check_platform()
        return int(_resolve(options.command_function)(options))
    except AckgapError as error:
        print(f"ackgap: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("ackgap: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0


def _resolve(name: str):  # type: ignore[no-untyped-def]
    import importlib

    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"ackgap.cli.{module}"), function)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ackgap",
        description="Kills an agent's worker at every point where the outside world or its own durable state changes, "
        "brings it back, and counts what the outside world saw.",
        epilog="exit status: 0 nothing red or inconclusive; 1 red; 2 your mistake; 3 inconclusive, or ackgap failed",
    )
    parser.add_argument("--version", action="version", version=f"ackgap {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_run(commands)
    _add_replay(commands)
    report = commands.add_parser("report", help="rebuild the reports of a run from its results alone")
    report.add_argument("directory", metavar="DIR", help="what `ackgap run` wrote")
    report.set_defaults(command_function="results:report")
    listing = commands.add_parser("list", help="list the scenarios that ship with ackgap, or the axes of one")
    listing.add_argument("scenario", metavar="SCENARIO", nargs="?", help="a scenario's path or name: show its axes")
    listing.set_defaults(command_function="listing:scenarios")
    targets = commands.add_parser("targets", help="list the fake services, or explain one")
    targets.add_argument("name", metavar="NAME", nargs="?", help="a profile's name, or the path of a profile")
    targets.set_defaults(command_function="listing:targets")
    return parser


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run",
        help="run a scenario, or any worker with --worker",
        description="Probe the worker undisturbed, then kill it at every point found, and judge each run.",
        epilog="example: ackgap run --worker 'python agent.py' --target tickets=any --env TICKETS_URL={tickets.url}",
    )
    run.add_argument("scenario", metavar="SCENARIO", nargs="?", help="path of a scenario, or name of a shipped one")
    part = run.add_argument_group("which part of the matrix")
    part.add_argument("--only", action="append", default=[], metavar="AXIS=VALUE", help="only these values of an axis")
    part.add_argument("--point", action="append", default=[], metavar="GLOB", help="only crash points like 'tickets.*'")
    part.add_argument(
        "--schedule",
        action="append",
        default=[],
        metavar="TEXT",
        help="only these faults: 'pause@tickets.create#1:sending'",
    )
    part.add_argument("--slice", metavar="NAME", help="a part that the scenario names")
    how = run.add_argument_group("how")
    how.add_argument("--jobs", type=_positive, metavar="N", help="cells at a time (default: one for each core)")
    how.add_argument("--out", metavar="DIR", help="where results go (default: reports/<scenario>)")
    how.add_argument(
        "--network",
        choices=("auto", "isolated", "host"),
        default="auto",
        help="a network of their own for the workers, where the system allows it (default: auto)",
    )
    how.add_argument(
        "--fail-on",
        metavar="KINDS",
        default="red,inconclusive",
        help="what makes the exit status non-zero: verdicts, or red, amber, inconclusive, never "
        "(default: red,inconclusive)",
    )
    how.add_argument(
        "--warm",
        action="store_true",
        help="fork Python workers from a parent that has imported their installed modules once; several times faster",
    )
    how.add_argument("--quiet", action="store_true", help="no progress, only the matrix")
    how.add_argument("--expected", metavar="FILE", help="exit 0 if and only if the verdicts equal those in FILE")
    how.add_argument("--write-expected", metavar="FILE", help="write the verdicts to FILE")
    worker = run.add_argument_group("any worker, no scenario file")
    worker.add_argument("--worker", metavar="COMMAND", help="the command that starts it, in a copy of this directory")
    worker.add_argument(
        "--target", action="append", default=[], metavar="NAME=PROFILE", help="a fake service (see `ackgap targets`)"
    )
    worker.add_argument(
        "--protection",
        action="append",
        default=[],
        metavar="NAME=PROTECTION",
        help="how a fake service treats repeats (see `ackgap targets PROFILE`)",
    )
    worker.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="for the worker; {NAME.url} is a target's address",
    )
    worker.add_argument("--resume-command", metavar="COMMAND", help="the command of later lives (default: the same)")
    worker.add_argument("--state", action="append", default=[], metavar="PATH", help="durable state of the worker")
    worker.add_argument("--reset", metavar="COMMAND", help="resets state that ackgap cannot see, before every cell")
    worker.add_argument("--finished-when", metavar="COMMAND", help="exits 0 once the work is finished")
    worker.add_argument("--in-doubt-when", metavar="REGEX", help="what the worker prints when it asks a human")
    worker.add_argument("--allow-host", action="append", default=[], metavar="HOST", help="may be reached for real")
    worker.add_argument("--read", action="append", default=[], metavar="GLOB", help="operations without an effect")
    worker.add_argument("--expect", action="append", default=[], metavar="OPERATION=N", help="effects of an operation")
    worker.add_argument("--life", type=float, metavar="SECONDS", help="how long one life may take (default: 60)")
    run.set_defaults(command_function="run:run")


def _add_replay(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    replay = commands.add_parser("replay", help="run one cell of a run again, and show what happens as it happens")
    replay.add_argument("directory", metavar="DIR", help="what `ackgap run` wrote")
    replay.add_argument("cell", metavar="CELL", help="its name, such as 'tickets.create#1:returned@default'")
    replay.add_argument("--network", choices=("auto", "isolated", "host"), default="auto", help="as for `run`")
    replay.set_defaults(command_function="replay:replay")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number
