"""Options that the command line leaves open, settled by `[tool.ackgap]` of the project and then by what is usual."""

from __future__ import annotations

import argparse
from pathlib import Path

from ackgap.project import ProjectOptions, nearest_project
from ackgap.report.failing import FAILING

__all__ = ["reports_of", "settle"]


def settle(options: argparse.Namespace) -> ProjectOptions:
    """Fill in what the command line does not say, and return what the project says.

    Raises:
        UsageInvalid: The project's file says something that is no option.
    """
    project = nearest_project(Path.cwd())
    usual = {
        "jobs": project.jobs,
        "network": project.network or "auto",
        "warm": bool(project.warm),
        "copies": bool(project.copies),
        "fail_on": project.fail_on or FAILING,
        "life": project.life_s,
    }
    for name, value in usual.items():
        if getattr(options, name, value) is None:
            setattr(options, name, value)
    return project


def reports_of(project: ProjectOptions) -> Path:
    """Return the directory below which results go."""
    if project.out is None:
        return Path("reports")
    here = Path.cwd()
    return project.out.relative_to(here) if project.out.is_relative_to(here) else project.out
