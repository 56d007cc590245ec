"""Money: amounts in words, from fractions of a cent for one model call to whole campaigns."""

from __future__ import annotations

__all__ = ["in_words"]


def in_words(amount: float, currency: str) -> str:
    """Return an amount with its currency: two digits behind the point, or two that are not zero for less than that."""
    digits = 2
    while 0 < abs(amount) < 10 ** (1 - digits) and digits < 12:
        digits += 1
    return f"{amount:.{digits}f} {currency}".strip()
