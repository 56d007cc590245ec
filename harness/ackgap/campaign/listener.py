"""Listener: whoever follows a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant

__all__ = ["Listener", "Silent"]


class Listener(Protocol):
    """Whoever follows a campaign. Called in the campaign's own thread, between cells."""

    def began(self, variants: Sequence[Variant], isolated: bool) -> None:
        """Nothing has run yet; the variants are known, and whether the workers get a network of their own."""

    def probed(self, variant: Variant, expectation: Expectation) -> None:
        """A variant's yardstick is known."""

    def planned(self, cells: int) -> None:
        """How many cells there will be, as far as is known."""

    def noted(self, text: str) -> None:
        """Something that a reader of the results should know."""

    def finished(self, result: CellResult) -> None:
        """A cell, or the undisturbed run of a variant, has its verdict."""


class Silent:
    """A listener that does nothing."""

    def began(self, variants: Sequence[Variant], isolated: bool) -> None:
        """Do nothing."""

    def probed(self, variant: Variant, expectation: Expectation) -> None:
        """Do nothing."""

    def planned(self, cells: int) -> None:
        """Do nothing."""

    def noted(self, text: str) -> None:
        """Do nothing."""

    def finished(self, result: CellResult) -> None:
        """Do nothing."""
