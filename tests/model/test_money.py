"""Amounts in words."""

from __future__ import annotations

import pytest

from ackgap.model import money


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0.0, "0.00 USD"),
        (12.345, "12.35 USD"),
        (0.5, "0.50 USD"),
        (0.054, "0.054 USD"),
        (0.000024, "0.000024 USD"),
        (1e-15, "0.000000000000 USD"),
        (-0.004, "-0.0040 USD"),
    ],
)
def test_an_amount_shows_two_digits_that_matter(amount, words):
    assert money.in_words(amount, "USD") == words


def test_an_amount_without_a_currency_is_a_number():
    assert money.in_words(3, "") == "3.00"
