"""Which change of a file is a boundary, and of what."""

from __future__ import annotations

import pytest

from ackgap.execute.file_calls import FileCall, FileCalls, Step, boundary_part

PID = 4711
FRAME = b"\0\0\0\1\0\0\0\2" + b"salt" * 4
"""The head of a frame after which the database has two pages: a commit."""
OTHER_FRAME = b"\0\0\0\1\0\0\0\0" + b"salt" * 4
NOTHING = Step()


class Files(FileCalls):
    """Names its changes one after the other; files are there that it was told of."""

    def __init__(self, *there: str) -> None:
        super().__init__(lambda path: path in there)
        self.number = 0

    def step(self, verb: str, path: str, *, offset: int = -1, size: int = 0, head: bytes = b"") -> Step:
        self.number += 1
        return self.before(PID, self.number, FileCall(verb=verb, path=path, offset=offset, size=size, head=head))


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("write", "file.state.json.write"),
        ("rename", "file.state.json.replace"),
        ("truncate", "file.state.json.truncate"),
        ("unlink", "file.state.json.remove"),
        ("link", "file.state.json.link"),
    ],
)
def test_each_change_of_a_plain_file_is_a_durable_write_of_its_own(verb, name):
    files = Files()
    assert files.step(verb, "/cell/state.json") == Step(begins=name, lands=1)
    assert files.over(PID, 1) == 1
    assert files.over(PID, 1) == 0


def test_with_a_rollback_journal_the_commit_is_the_end_of_the_journal():
    files = Files("/cell/app.db", "/cell/app.db-journal")
    for ends in (
        {"verb": "unlink"},
        {"verb": "truncate"},
        {"verb": "write", "offset": 0, "size": 28, "head": bytes(28)},
    ):
        assert files.step("write", "/cell/app.db-journal", offset=0, size=512, head=bytes(12) + b"x") == NOTHING
        assert files.step("write", "/cell/app.db", offset=0, size=4096) == NOTHING
        assert files.step("truncate", "/cell/app.db", size=4096) == NOTHING
        step = files.step(path="/cell/app.db-journal", **ends)
        assert step == Step(begins="sqlite.app.db.commit", lands=files.number)


def test_a_roll_back_is_no_commit():
    files = Files("/cell/app.db", "/cell/app.db-journal")
    files.step("write", "/cell/app.db-journal", offset=0, size=512, head=b"x")
    assert files.step("unlink", "/cell/app.db-journal") == NOTHING  # no page had been written
    assert files.step("write", "/cell/app.db", offset=0, size=4096) == NOTHING
    assert files.step("unlink", "/cell/app.db-journal") == NOTHING  # what a dead process left is put back


def test_with_a_write_ahead_log_the_commit_is_the_frame_that_says_so_and_lands_with_its_page():
    files = Files("/cell/app.db", "/cell/app.db-wal")
    assert files.step("write", "/cell/app.db-wal", offset=0, size=32, head=FRAME) == NOTHING
    assert files.step("write", "/cell/app.db-wal", offset=32, size=24, head=OTHER_FRAME) == NOTHING
    assert files.step("write", "/cell/app.db-wal", offset=56, size=4096) == NOTHING
    assert files.step("write", "/cell/app.db-wal", offset=4152, size=24, head=FRAME) == Step("sqlite.app.db.commit")
    commit = files.number
    assert files.step("write", "/cell/app.db-wal", offset=4176, size=4096) == Step(lands=commit)
    assert files.over(PID, files.number) == commit
    assert files.step("write", "/cell/app.db", offset=0, size=4096) == NOTHING  # a checkpoint
    assert files.step("unlink", "/cell/app.db-wal") == NOTHING


def test_a_head_that_is_written_once_more_is_a_commit_without_a_page():
    files = Files("/cell/app.db", "/cell/app.db-wal")
    files.step("write", "/cell/app.db-wal", offset=32, size=24, head=FRAME)
    files.step("write", "/cell/app.db-wal", offset=56, size=4096)
    again = files.step("write", "/cell/app.db-wal", offset=32, size=24, head=FRAME)
    assert again == Step(begins="sqlite.app.db.commit", lands=files.number)


def test_the_frames_of_two_processes_are_not_mixed_up():
    files = Files("/cell/app.db", "/cell/app.db-wal")
    begun = FileCall(verb="write", path="/cell/app.db-wal", offset=32, size=24, head=FRAME)
    page = FileCall(verb="write", path="/cell/app.db-wal", offset=56, size=4096)
    assert files.before(1, 1, begun).begins
    assert files.before(2, 1, page) == NOTHING
    assert files.before(1, 2, page) == Step(lands=1)


def test_a_file_that_is_only_called_like_a_journal_is_a_plain_file():
    assert Files().step("write", "/cell/my-journal", size=3) == Step(begins="file.my-journal.write", lands=1)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("state.json", "state.json"),
        ("state.json.new", "state.json.new"),
        ("a b@c.txt", "a_b_c.txt"),
        ("state.json.aB3xY9", "state.json.tmp"),
        (".tmpQ8zzT1", "tmp"),
        ("tmp_obj_Q8zzT1", "tmp"),
        ("0123456789abcdef0123456789abcdef01234567.pack", "hex.pack"),
        ("0123456789abcdef0123456789abcdef", "uuid"),
        ("template", "template"),
        ("state-2873482374.json", "state-tmp.json"),
        ("state.json.4711", "tmp"),
        ("tmpab12cd_9", "tmp"),
        ("run-6f2c1a9e-1111-4222-8333-444455556666.json", "run-uuid.json"),
        ("app.sqlite", "app.sqlite"),
    ],
)
def test_what_is_made_up_anew_each_time_is_not_in_a_name(name, part):
    assert boundary_part(f"/cell/deep/{name}", PID) == part
