"""Which addresses of a target a scenario may put into commands and variables."""

from __future__ import annotations

import pytest

from ackgap.scenario.words import placeholder_mistake


@pytest.mark.parametrize("part", ["url", "mcp", "host", "port"])
def test_each_address_of_a_target_has_its_placeholder(part):
    assert placeholder_mistake(f"--at={{desk.{part}}}", ["desk"]) == ""
    assert "did you mean 'desk'" in placeholder_mistake(f"{{desks.{part}}}", ["desk"])


def test_another_word_is_refused_with_those_there_are():
    assert "url, mcp, host, port" in placeholder_mistake("{desk.mpc}", ["desk"])
