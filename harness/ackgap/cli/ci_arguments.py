"""The arguments of what is there for CI: comparing runs, badges, and how GitHub is told."""

from __future__ import annotations

import argparse

__all__ = ["add_badge", "add_diff", "add_github"]


def add_diff(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `ackgap diff`."""
    diff = commands.add_parser(
        "diff",
        help="compare two runs: what is newly red, newly green, changed, and what only one of them has",
        description="Compare the results of two runs, cell by cell. Nothing is run.",
        epilog="exit status: 0 nothing newly red or inconclusive; 1 newly red; 2 your mistake; 3 newly inconclusive",
    )
    diff.add_argument("old", metavar="OLD", help="results of the run to compare with")
    diff.add_argument("new", metavar="NEW", help="results of the run to look at")
    diff.add_argument(
        "--format", choices=("text", "markdown", "json"), default="text", help="how it is written (default: text)"
    )
    diff.add_argument(
        "--fail-on",
        metavar="KINDS",
        default="red,inconclusive",
        help="what fails where it is new: verdicts, or red, amber, inconclusive; also changed, vanished; or never "
        "(default: red,inconclusive)",
    )
    add_github(diff)
    diff.set_defaults(command_function="diff:diff")


def add_badge(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `ackgap badge`."""
    badge = commands.add_parser("badge", help="make a badge of a run: a picture, or what shields.io makes one from")
    badge.add_argument("directory", metavar="DIR", help="what `ackgap run` or `ackgap merge` wrote")
    badge.add_argument("files", metavar="FILE", nargs="+", help="where to: .svg is a picture, .json is for shields.io")
    badge.add_argument("--label", metavar="TEXT", default="ackgap", help="its left half (default: ackgap)")
    badge.set_defaults(command_function="badge:badge")


def add_github(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the option that says whether GitHub Actions is told."""
    parser.add_argument(
        "--github",
        choices=("auto", "always", "never"),
        default="auto",
        help="annotations, and a summary of the job: in a job of GitHub Actions (auto), always, or never",
    )
