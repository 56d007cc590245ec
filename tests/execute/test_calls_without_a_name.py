"""Calls to an address that serves several operations get their name when the target has the request."""

from __future__ import annotations

import pytest

from ackgap.execute.life import Life
from ackgap.execute.plain_process import PlainProcess

LINE = ("tickets", "POST", "/mcp")


@pytest.fixture
def life() -> Life:
    return Life(incarnation=1, token="t", process=PlainProcess(token="t", output_bytes=1))


def test_the_only_call_on_its_way_gets_the_name(life):
    life.announce_unnamed(LINE, (7, 1))
    assert life.arrive("tickets.create", LINE) == 1
    assert life.call_points == {(7, 1): ("tickets.create", 1)}


def test_of_several_calls_the_one_from_the_same_port_gets_the_name(life):
    life.announce_unnamed(LINE, (7, 1), 50001)
    life.announce_unnamed(LINE, (7, 2), 50002)
    life.announce_unnamed(LINE, (7, 3), 50003)
    life.arrive("tickets.create", LINE, 50002)
    life.arrive("tickets.find", LINE, 50003)
    assert life.call_points == {(7, 2): ("tickets.create", 1), (7, 3): ("tickets.find", 1)}


def test_several_calls_without_a_port_get_no_name(life):
    life.announce_unnamed(LINE, (7, 1))
    life.announce_unnamed(LINE, (7, 2))
    life.arrive("tickets.create", LINE, 50002)
    assert life.call_points == {}


def test_a_request_of_another_process_takes_no_call_s_name(life):
    life.announce_unnamed(LINE, (7, 1), 50001)
    life.arrive("tickets.create", LINE, 50009)
    life.arrive("tickets.create", LINE, 50001)
    assert life.call_points == {(7, 1): ("tickets.create", 2)}


def test_a_call_that_is_over_no_longer_waits_for_a_name(life):
    life.announce_unnamed(LINE, (7, 1), 50001)
    assert life.forget_unnamed((7, 1))
    life.arrive("tickets.create", LINE, 50001)
    assert life.call_points == {}
