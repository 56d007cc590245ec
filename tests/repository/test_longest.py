"""The order in which slow tests begin: it names tests that there are, and loses none."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from longest import LONGEST_S, longest_first

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("name", sorted({name.partition("[")[0] for name in LONGEST_S}))
def test_what_is_said_to_take_long_is_a_test(name):
    file, _, function = name.partition("::")
    assert re.search(rf"^def {function}\(", (TESTS / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize("processes", [2, 3, 4])
def test_each_process_begins_with_its_share_of_the_longest_and_every_test_is_there_once(processes):
    some = [f"tests/target/test_any.py::test_{number}" for number in range(50)]
    items = [SimpleNamespace(nodeid=nodeid) for nodeid in [*some, *(f"tests/{name}" for name in LONGEST_S)]]
    ordered = [item.nodeid for item in longest_first(items, processes)]
    assert sorted(ordered) == sorted(item.nodeid for item in items)
    assert [nodeid for nodeid in ordered if nodeid in some] == some
    begins = 0
    for process in range(processes):
        size = (len(ordered) - begins) // (processes - process)  # as pytest-xdist divides it
        part = ordered[begins : begins + size]
        long = [nodeid for nodeid in part if nodeid not in some]
        assert len(long) >= len(LONGEST_S) // processes - 2
        assert part[: len(long)] == long
        begins += size
