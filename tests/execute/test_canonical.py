"""Two runs of the same work have the same masked digest, and two states that differ in more than ids have not."""

from __future__ import annotations

import base64
import json
import pickle
import sqlite3
import time
import uuid
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from ackgap.execute.state.decode import leaves, leaves_of_bytes
from ackgap.execute.state.mask_learning import compare_probes, learn_masks
from ackgap.execute.state.masks import Learned
from ackgap.execute.state.reading import StateReader
from ackgap.execute.store import DurableStore
from ackgap.model.boundary import BoundaryKind, Phase
from ackgap.model.event import BoundaryReached, Injector
from ackgap.model.history import History

NOW_S = time.time()


def digest(directory, **options):
    return DurableStore(directory, reader=StateReader(now_s=NOW_S, **options)).masked_digest()


def content(directory):
    reader = StateReader(now_s=NOW_S, keep=True)
    DurableStore(directory, reader=reader).masked_digest()
    return reader.reading.contents[0]


def two(tmp_path, write):
    """Return two directories, each written to by the same function."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, name)
    return tmp_path / "one", tmp_path / "two"


def learned_of(one, other, declared=()):
    return learn_masks({"p": content(one)}, {"p": content(other)}, declared=declared, now_s=NOW_S)


def version_6(later_s):
    ticks = int((NOW_S + later_s + 12_219_292_800) * 1e7)
    high, low = ticks >> 12, ticks & 0xFFF
    return str(uuid.UUID(int=(high << 80) | (6 << 76) | (low << 64) | (2 << 62) | (uuid.uuid4().int & ((1 << 62) - 1))))


def version_7(later_s):
    milliseconds = int((NOW_S + later_s) * 1e3)
    return str(uuid.UUID(int=(milliseconds << 80) | (7 << 76) | (2 << 62) | (uuid.uuid4().int & ((1 << 62) - 1))))


def ulid(later_s):
    number = (int((NOW_S + later_s) * 1e3) << 80) | (uuid.uuid4().int >> 48)
    return "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[(number >> 5 * place) & 31] for place in reversed(range(26)))


# ---------------------------------------------------------------------------------------------------------- content


def test_rows_of_a_sqlite_store_are_the_same_in_whatever_order_and_pages_they_were_written(tmp_path):
    def write(directory, name):
        rows = [("a", 1), ("b", 2)]
        with closing(sqlite3.connect(directory / "app.db")) as connection:
            connection.execute("create table steps (name text, number integer)")
            if name == "two":
                connection.executemany("insert into steps values (?, ?)", [("gone", 0)] * 500)
                connection.execute("delete from steps")
                rows.reverse()
            connection.executemany("insert into steps values (?, ?)", rows)
            connection.commit()

    one, other = two(tmp_path, write)
    assert DurableStore(one).digest() != DurableStore(other).digest()
    assert digest(one) == digest(other) != ""


def test_a_sqlite_store_is_read_with_its_write_ahead_log_and_left_untouched(tmp_path):
    with closing(sqlite3.connect(tmp_path / "app.db")) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table steps (name text)")
        connection.commit()
        before = digest(tmp_path)
        connection.execute("insert into steps values ('filed')")
        connection.commit()
        raw = DurableStore(tmp_path).digest()
        assert digest(tmp_path) != before
        assert DurableStore(tmp_path).digest() == raw
        assert {path.name for path in tmp_path.iterdir()} <= {"app.db", "app.db-wal", "app.db-shm"}


@pytest.mark.parametrize(
    "packed",
    [
        b"\x82\xa4step\xa5filed\xa2id\xa3abc",  # msgpack
        b"\xc7\x0d\x05\x93\xa1m\xa1n\x81\xa4step\xa1x",  # an extension that holds msgpack
        pickle.dumps({"step": "filed", "id": "abc"}),
        json.dumps({"step": "filed"}).encode(),
        base64.b64encode(pickle.dumps({"step": "filed", "id": "abc"})),
    ],
)
def test_packed_data_is_opened(packed):
    assert any("step" in leaf.path or "step" in leaf.value for leaf in leaves_of_bytes(packed))
    assert not any("bytes" in leaf.path and leaf.value == packed.hex() for leaf in leaves_of_bytes(packed))


def test_a_pickle_is_read_and_nothing_of_it_runs(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    found = list(leaves_of_bytes(pickle.dumps({"step": Trap()})))
    assert any("sprung" in leaf.value for leaf in found)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("data", [b"\x80", b"\x80\x04.", b"\xdf\xff\xff\xff\xff", b"\x91" * 5000, b"\xff\xfe\x00", b""])
def test_bytes_that_are_nothing_known_are_told_apart_all_the_same(data):
    assert list(leaves_of_bytes(data)) != list(leaves_of_bytes(data + b"\x01"))


def test_a_number_and_its_text_differ():
    assert list(leaves({"n": 1})) != list(leaves({"n": "1"}))


def test_half_a_line_differs_from_a_whole_one(tmp_path):
    one, other = two(tmp_path, lambda directory, name: (directory / "j").write_text("a\n" if name == "one" else "a"))
    assert digest(one) != digest(other)


# ------------------------------------------------------------------------------------------------------------ masks


def test_times_of_now_and_random_ids_are_no_difference(tmp_path):
    def write(directory, name):
        later_s = 0.0 if name == "one" else 90.0
        moment = datetime.fromtimestamp(NOW_S + later_s, UTC)
        record = {
            "id": str(uuid.uuid4()),
            "token": uuid.uuid4().hex,
            "at": moment.isoformat(),
            "at_z": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "epoch": NOW_S + later_s,
            "ms": int((NOW_S + later_s) * 1000),
        }
        (directory / f"{record['id']}.json").write_text(json.dumps(record))
        with closing(sqlite3.connect(directory / "app.db")) as connection:
            connection.execute("create table steps (id text, at text, state blob)")
            connection.execute(
                "insert into steps values (?, ?, ?)", (record["id"], record["at"], pickle.dumps({"id": record["id"]}))
            )
            connection.commit()

    one, other = two(tmp_path, write)
    assert digest(one) == digest(other) != ""


def test_the_same_id_twice_is_not_two_ids(tmp_path):
    def write(directory, name):
        first, second = str(uuid.uuid4()), str(uuid.uuid4())
        (directory / "a.json").write_text(json.dumps([first, first if name == "one" else second]))

    one, other = two(tmp_path, write)
    assert digest(one) != digest(other)


@pytest.mark.parametrize("make", [version_6, version_7, ulid])
def test_which_of_two_growing_ids_is_the_latest_stays(tmp_path, make):
    def write(directory, name):
        times = (7, 9) if name == "one" else (9, 7)
        rows = [{"id": make(later_s), "step": step} for later_s, step in zip(times, ("new", "filed"), strict=True)]
        (directory / "a.json").write_text(json.dumps(rows))

    one, other = two(tmp_path, write)
    assert digest(one) != digest(other)
    (other / "a.json").write_text(json.dumps([{"id": make(20), "step": "new"}, {"id": make(30), "step": "filed"}]))
    assert digest(one) == digest(other)


def test_a_digest_in_the_form_of_a_uuid_has_no_place_in_time_whatever_its_version_digit(tmp_path):
    texts = {"one": ("f", "1"), "two": ("1", "f")}

    def write(directory, name):
        made = [f"{first * 8}-aaaa-6aaa-8aaa-{first * 12}" for first in texts[name]]
        (directory / "a.json").write_text(json.dumps(made))

    one, other = two(tmp_path, write)
    assert digest(one) == digest(other)


def test_a_time_long_ago_is_not_now(tmp_path):
    def write(directory, name):
        at = datetime.fromtimestamp(NOW_S, UTC) - timedelta(days=0 if name == "one" else 3)
        (directory / "a.json").write_text(json.dumps({"at": at.isoformat()}))

    one, other = two(tmp_path, write)
    assert digest(one) != digest(other)


def test_a_digest_that_a_worker_keeps_is_no_random_id(tmp_path):
    one, other = two(tmp_path, lambda directory, name: (directory / "sum").write_text(name[0].encode().hex() * 32))
    assert digest(one) != digest(other)


def test_an_id_that_both_undisturbed_runs_have_is_not_masked(tmp_path):
    fixed = str(uuid.uuid4())
    one, other = two(tmp_path, lambda directory, name: (directory / "id").write_text(fixed))
    learned = learned_of(one, other)
    (other / "id").write_text(str(uuid.uuid4()))
    assert digest(one) == digest(other)
    assert digest(one, learned=learned) != digest(other, learned=learned)


def test_a_declared_expression_masks_and_keeps_what_is_equal(tmp_path):
    def write(directory, name):
        (directory / "a.txt").write_text(f"job-{name} began\njob-{name} ended\n")

    one, other = two(tmp_path, write)
    assert digest(one) != digest(other)
    assert digest(one, declared=[r"job-\w+"]) == digest(other, declared=[r"job-\w+"])
    (other / "a.txt").write_text("job-x began\njob-y ended\n")
    assert digest(one, declared=[r"job-\w+"]) != digest(other, declared=[r"job-\w+"])


def test_what_differs_between_undisturbed_runs_is_learned_and_the_rest_still_counts(tmp_path):
    numbers = {"one": (0.25, 4711), "two": (0.5, 4712)}

    def write(directory, name):
        took_s, process = numbers[name]
        (directory / "a.json").write_text(json.dumps({"took_s": took_s, "pid": process, "count": 1}))

    one, other = two(tmp_path, write)
    learned = learned_of(one, other)
    assert learned.moving == {"a.json.took_s", "a.json.pid"}
    assert not learned.unclear
    assert digest(one, learned=learned) == digest(other, learned=learned) != ""
    (other / "a.json").write_text(json.dumps({"took_s": 0.5, "pid": 4712, "count": 2}))
    assert digest(one, learned=learned) != digest(other, learned=learned)


def test_a_field_of_a_pickle_has_its_place_whatever_id_stands_before_it(tmp_path):
    ids = {"one": "a" + "7" * 31, "two": "7" * 31 + "a"}

    def write(directory, name):
        packed = pickle.dumps({"run": ids[name], "took_s": len(name) + ord(name[0]) / 7, "step": 3})
        (directory / "a.pickle").write_bytes(packed)

    one, other = two(tmp_path, write)
    learned = learned_of(one, other)
    assert not learned.unclear
    assert learned.moving == {"a.pickle~pickle.took_s"}
    assert digest(one, learned=learned) == digest(other, learned=learned)


def test_words_that_differ_between_undisturbed_runs_are_equal_only_where_they_are_the_same(tmp_path):
    words = {"one": "please look at it 3 times", "two": "have a look, please, or 2"}

    def write(directory, name):
        (directory / "a.json").write_text(json.dumps({"t": words[name]}))

    one, other = two(tmp_path, write)
    learned = learned_of(one, other)
    assert learned == Learned(unclear=frozenset({"a.json.t"}))
    assert digest(one, learned=learned) != digest(other, learned=learned)
    write(other, "one")
    assert digest(one, learned=learned) == digest(other, learned=learned)


def test_a_structure_of_ids_that_differs_between_undisturbed_runs_is_unclear(tmp_path):
    def write(directory, name):
        first, second = str(uuid.uuid4()), str(uuid.uuid4())
        (directory / "a.json").write_text(json.dumps([first, first if name == "one" else second]))

    one, other = two(tmp_path, write)
    assert learned_of(one, other).unclear


def test_addresses_and_directories_of_a_slot_are_no_difference(tmp_path):
    def write(directory, name):
        (directory / "a.json").write_text(json.dumps({"url": f"http://127.0.0.1:{len(name)}{name}/x"}))

    one, other = two(tmp_path, write)
    assert digest(one, literals={"127.0.0.1:3one": "tickets"}) == digest(other, literals={"127.0.0.1:3two": "tickets"})


def test_a_file_that_calls_itself_a_store_and_is_none_has_no_digest_and_says_why(tmp_path):
    (tmp_path / "app.db").write_bytes(b"SQLite format 3\0 and nothing else")
    reader = StateReader(now_s=NOW_S, keep=True)
    assert DurableStore(tmp_path, reader=reader).masked_digest() == ""
    assert "app.db" in reader.reading.problems[0]


def test_nobody_asked_means_no_digest(tmp_path):
    (tmp_path / "a").write_text("x")
    assert DurableStore(tmp_path).masked_digest() == ""


def test_probes_get_digests_that_their_cells_can_be_compared_with(tmp_path):
    one, other = two(
        tmp_path,
        lambda directory, name: (directory / "a.json").write_text(json.dumps({"n": len(name) * 7 + ord(name[0])})),
    )
    event = BoundaryReached(
        seq=1,
        at_s=0.0,
        incarnation=1,
        name="x",
        occurrence=1,
        phase=Phase.COMMITTED,
        boundary_kind=BoundaryKind.CHECKPOINT,
        source=Injector.PYTHON,
    )
    history = History(events=(event,))
    readings = []
    for directory in (one, other):
        reader = StateReader(now_s=NOW_S, keep=True)
        DurableStore(directory, reader=reader).masked_digest()
        readings.append(reader.reading)
    compared = compare_probes((history, readings[0]), (history, readings[1]), declared=(), now_s=NOW_S)
    first, second = compared.first.passages[0].masked_digest, compared.second.passages[0].masked_digest
    assert first == second == digest(one, learned=compared.masks) != ""
    assert compared.notes == ()
