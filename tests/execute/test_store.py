"""What counts as durable, and when it counts as quiet."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from ackgap.execute.state import marks
from ackgap.execute.store import DurableStore


def changes(directory: Path, name: str, **options) -> bool:
    """Whether writing a file changes the digest."""
    store = DurableStore(directory, **options)
    before = store.digest()
    (directory / name).write_text("filed")
    return store.digest() != before


@pytest.mark.parametrize(
    ("name", "options", "counts"),
    [
        ("state.json", {}, True),
        ("agent.log", {}, False),
        ("agent.log", {"patterns": ["*.json"]}, False),
        ("agent.log", {"patterns": ["agent.*"]}, True),
        ("agent.log", {"whole": True}, True),
        ("state.json", {"patterns": ["*.db"]}, False),
        ("state.json", {"patterns": ["*.db"], "whole": True}, True),
        ("agent.db-shm", {"whole": True}, False),
    ],
)
def test_logs_count_only_where_a_pattern_names_them_or_everything_counts(tmp_path, name, options, counts):
    assert changes(tmp_path, name, **options) is counts


def test_what_lies_beside_the_directory_counts_where_it_is_named(tmp_path):
    beside = tmp_path / "beside"
    beside.mkdir()
    store = DurableStore(tmp_path / "work", outside=[beside], whole=True)
    before = store.digest()
    (beside / "notes").write_text("filed")
    assert store.digest() != before


def test_a_store_is_not_quiet_while_somebody_is_about_to_write(tmp_path):
    store = DurableStore(tmp_path)
    assert asyncio.run(store.quiet(for_s=0.02, limit_s=5))
    assert not asyncio.run(store.quiet(for_s=0.02, limit_s=0.2, busy=lambda: True))


def test_a_look_that_comes_late_counts_as_one(tmp_path):
    store = DurableStore(tmp_path)
    looks = 0

    def busy() -> bool:
        nonlocal looks
        looks += 1
        return False

    async def late() -> bool:
        loop = asyncio.get_running_loop()
        loop.call_soon(__import__("time").sleep, 0.1)  # nobody gets a turn for longer than it has to be quiet
        return await store.quiet(for_s=0.05, limit_s=5, busy=busy)

    assert asyncio.run(late())
    assert looks >= 5


def test_a_write_of_the_same_size_is_seen_however_soon_it_comes(tmp_path, monkeypatch):
    file = tmp_path / "state.bin"
    for fine in (True, False):
        monkeypatch.setattr("ackgap.execute.state.marks._TIMES_ARE_FINE", fine and marks._TIMES_ARE_FINE)
        store = DurableStore(tmp_path)
        seen = []
        for number in range(300):
            with file.open("r+b" if file.exists() else "wb") as opened:
                opened.write(number.to_bytes(4))
            seen.append(store.digest())
        assert len(set(seen)) == len(seen)


def test_a_file_whose_time_of_change_stands_still_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr("ackgap.execute.state.marks._TIMES_ARE_FINE", False)
    file, store = tmp_path / "state.bin", DurableStore(tmp_path)
    file.write_bytes(b"a")
    moment = file.stat().st_mtime_ns
    before = store.digest()
    file.write_bytes(b"b")
    os.utime(file, ns=(moment, moment))
    assert store.digest() != before
