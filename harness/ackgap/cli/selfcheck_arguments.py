"""The arguments of `ackgap selfcheck`; light, since every start of the command line reads it."""

from __future__ import annotations

import argparse

__all__ = ["add_selfcheck"]


def add_selfcheck(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    selfcheck = commands.add_parser(
        "selfcheck",
        help="break shipped agents that are right, and see that ackgap sees it",
        description="Run shipped agents that are right, and mutants of them, and say how many of the mutants were "
        "caught and how many false alarms there were.",
        epilog="exit status: 0 if every mutant was caught or shown to be equivalent, and nothing else was red; else 1",
    )
    selfcheck.add_argument("--all", action="store_true", help="every mutant, also of an agent whose cells take seconds")
    selfcheck.add_argument(
        "--engine", action="append", default=[], metavar="NAME", help="only agents of this engine, such as langgraph"
    )
    selfcheck.add_argument(
        "--operator", action="append", default=[], metavar="NAME", help="only this way to break them, such as drop-key"
    )
    selfcheck.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help="only this agent, such as selfcheck/review"
    )
    selfcheck.add_argument(
        "--prove",
        action="store_true",
        help="prove anew of each equivalent mutant that it is one, instead of going by the proofs that are shipped",
    )
    selfcheck.add_argument("--keep", metavar="DIR", help="keep every mutant here (default: those missed, in reports)")
    selfcheck.add_argument("--jobs", type=int, metavar="N", help="cells at a time (default: one for each core)")
    selfcheck.add_argument("--network", choices=("auto", "isolated", "host"), help="as for `run`")
    selfcheck.add_argument("--json", action="store_true", help="as one JSON document")
    selfcheck.add_argument("--quiet", action="store_true", help="no progress")
    selfcheck.set_defaults(command_function="selfcheck:selfcheck")
