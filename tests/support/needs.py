"""What a test needs of the machine: where it is missing the test is skipped, and says how to get it; in CI it fails."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from typing import NoReturn

import pytest

from ackgap.errors import EnvironmentLacks

__all__ = ["lacking", "need", "needed"]


def lacking(text: str) -> NoReturn:
    """End the test: something is missing, as the text says."""
    if os.environ.get("CI") == "true":
        pytest.fail(text)
    pytest.skip(text)


def need(*modules: str, hint: str) -> None:
    """End the test where one of some modules is missing; the hint says how to get them."""
    missing = [module for module in modules if not _is_there(module)]
    if missing:
        lacking(f"{', '.join(missing)} missing; get it with: {hint}")


@contextlib.contextmanager
def needed() -> Iterator[None]:
    """End the test where what is done inside says that the machine lacks something."""
    try:
        yield
    except EnvironmentLacks as error:
        lacking(str(error))


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False
