"""What is understood of PostgreSQL's protocol, without any server: bytes in, steps out."""

from __future__ import annotations

import contextlib
import struct
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackgap.execute.pgwire.beginning import Wish, opening_of
from ackgap.execute.pgwire.frames import Frames, Misspoken, message
from ackgap.execute.pgwire.session import Session
from ackgap.execute.pgwire.statements import Does, Wanted, statements_of
from ackgap.execute.pgwire.steps import Failed, Forward, Landed, Park

SYNC, FLUSH = message(b"S"), message(b"H")
IDLE, IN_BLOCK, BROKEN = (message(b"Z", status) for status in (b"I", b"T", b"E"))
REFUSED = message(b"E", b"SERROR\0\0")


def query(text: str) -> bytes:
    return message(b"Q", text.encode() + b"\0")


def run(text: str, portal: bytes = b"") -> bytes:
    """Parse, Bind and Execute of a statement."""
    return (
        message(b"P", portal + b"\0" + text.encode() + b"\0\0\0")
        + message(b"B", portal + b"\0" + portal + b"\0\0\0\0\0\0\0")
        + message(b"D", b"P" + portal + b"\0")
        + message(b"E", portal + b"\0\0\0\0\0")
    )


def done(tag: str) -> bytes:
    return message(b"C", tag.encode() + b"\0")


class Talk:
    """A session that two sides are played to."""

    def __init__(self, *patterns: str, prepared: dict[str, tuple[str, ...]] | None = None) -> None:
        self.session = Session(Wanted(patterns), prepared)
        self.said: list[str] = []
        self.to_server = b""
        self.to_client = b""
        self.server(IDLE)
        self.to_client = b""

    def client(self, data: bytes) -> list[str]:
        """Play what the client sends; return what comes of it."""
        return self._carry_out(self.session.said_by_client(data), client=True)

    def server(self, data: bytes) -> list[str]:
        return self._carry_out(self.session.said_by_server(data), client=False)

    def _carry_out(self, steps: Iterator[object], *, client: bool) -> list[str]:
        before = len(self.said)
        for step in steps:
            if isinstance(step, Forward) and client:
                self.to_server += step.data
            elif isinstance(step, Forward):
                self.to_client += step.data
            else:
                assert isinstance(step, Park | Landed | Failed)
                self.said.append(f"{type(step).__name__.lower()} {step.boundary.name}")
        return self.said[before:]


def test_a_statement_outside_of_a_transaction_is_kept_until_it_may_commit_and_its_answer_until_it_has():
    talk = Talk()
    steps = talk.session.said_by_client(query("INSERT INTO journal VALUES (1)"))
    assert isinstance(park := next(steps), Park)
    assert park.boundary.name == "pg.journal.commit"
    assert [step.data for step in steps if isinstance(step, Forward)] == [query("INSERT INTO journal VALUES (1)")]
    steps = talk.session.said_by_server(done("INSERT 0 1") + IDLE)
    assert isinstance(next(steps), Landed), "before anything is given on"
    assert b"".join(step.data for step in steps if isinstance(step, Forward)) == done("INSERT 0 1") + IDLE


def test_a_transaction_commits_under_the_names_of_what_it_has_changed():
    talk = Talk()
    assert talk.client(query("BEGIN")) == talk.server(done("BEGIN") + IN_BLOCK) == []
    said = {"INSERT INTO a VALUES (1)": "INSERT 0 1", "UPDATE b SET x = 1": "UPDATE 0", "DELETE FROM c": "DELETE 2"}
    for text, tag in said.items():
        assert talk.client(query(text)) == talk.server(done(tag) + IN_BLOCK) == []
    assert talk.client(query("COMMIT")) == ["park pg.a+c.commit"]
    assert talk.server(done("COMMIT") + IDLE) == ["landed pg.a+c.commit"]


@pytest.mark.parametrize(
    "texts",
    [
        ["SELECT 1"],
        ["BEGIN", "SELECT * FROM t FOR UPDATE", "COMMIT"],
        ["BEGIN", "INSERT INTO t VALUES (1)", "ROLLBACK"],
        ["BEGIN", "SAVEPOINT s", "INSERT INTO t VALUES (1)", "ROLLBACK TO SAVEPOINT s", "COMMIT"],
        ["EXPLAIN INSERT INTO t VALUES (1)"],
        ["LISTEN work", "NOTIFY work"],
        ["SELECT 'INSERT INTO t'; -- ; DELETE FROM t"],
        [r"SELECT E'\'; INSERT INTO t VALUES (1)'"],
    ],
)
def test_what_writes_nothing_is_no_boundary(texts):
    talk = Talk()
    for text in texts:
        assert talk.client(query(text)) == []
        talk.server(done(text.split(maxsplit=1)[0]) + (IN_BLOCK if talk.session.transaction.block else IDLE))
    assert talk.said == []


def test_a_commit_of_a_transaction_that_has_failed_is_none():
    talk = Talk()
    talk.client(query("BEGIN"))
    talk.server(done("BEGIN") + IN_BLOCK)
    talk.client(query("INSERT INTO t VALUES (1)"))
    talk.server(done("INSERT 0 1") + IN_BLOCK)
    talk.client(query("INSERT INTO t VALUES ('x')"))
    talk.server(REFUSED + BROKEN)
    assert talk.client(query("COMMIT")) == []
    assert talk.server(done("ROLLBACK") + IDLE) == []
    assert talk.client(query("INSERT INTO t VALUES (2)")) == ["park pg.t.commit"]


def test_what_follows_a_savepoint_that_is_gone_back_to_is_not_named():
    talk = Talk()
    for text, tag, status in (
        ("BEGIN", "BEGIN", IN_BLOCK), ("INSERT INTO a VALUES (1)", "INSERT 0 1", IN_BLOCK),
        ("SAVEPOINT s", "SAVEPOINT", IN_BLOCK), ("INSERT INTO b VALUES (1)", "INSERT 0 1", IN_BLOCK),
    ):  # fmt: skip
        talk.client(query(text))
        talk.server(done(tag) + status)
    talk.client(query("broken"))
    talk.server(REFUSED + BROKEN)
    talk.client(query("ROLLBACK TO s"))
    talk.server(done("ROLLBACK") + IN_BLOCK)
    assert talk.client(query("COMMIT")) == ["park pg.a.commit"]


def test_a_commit_that_the_server_refuses_has_failed():
    talk = Talk()
    talk.client(query("BEGIN; INSERT INTO t VALUES (1)"))
    talk.server(done("BEGIN") + done("INSERT 0 1") + IN_BLOCK)
    assert talk.client(query("COMMIT")) == ["park pg.t.commit"]
    assert talk.server(REFUSED + IDLE) == ["failed pg.t.commit"]
    assert talk.to_client.endswith(REFUSED + IDLE)


def test_several_statements_in_one_query_are_one_boundary_and_land_if_a_commit_among_them_has():
    talk = Talk()
    text = "BEGIN; INSERT INTO a VALUES (';'); COMMIT; INSERT INTO b VALUES (1); broken"
    assert talk.client(query(text)) == ["park pg.a+b.commit"]
    assert talk.server(done("BEGIN") + done("INSERT 0 1") + done("COMMIT") + REFUSED + IDLE) == ["landed pg.a+b.commit"]


def test_the_extended_protocol_keeps_an_implicit_transaction_back_until_sync():
    talk = Talk()
    assert talk.client(run("INSERT INTO t VALUES ($1)")) == []
    assert talk.to_server.count(b"INSERT") == 1
    assert not talk.to_server.endswith(message(b"E", b"\0\0\0\0\0")), "nothing is locked yet"
    assert talk.client(SYNC) == ["park pg.t.commit"]
    assert talk.to_server == run("INSERT INTO t VALUES ($1)") + SYNC
    assert talk.server(message(b"1") + message(b"2") + message(b"n") + done("INSERT 0 1")) == []
    assert done("INSERT 0 1") not in talk.to_client
    assert talk.server(IDLE) == ["landed pg.t.commit"]


def test_a_pipeline_is_one_transaction_and_an_error_in_it_fails_all_of_it():
    talk = Talk()
    assert talk.client(run("INSERT INTO a VALUES (1)") + run("broken") + run("INSERT INTO b VALUES (1)") + SYNC) == [
        "park pg.a+b.commit"
    ]
    assert talk.server(done("INSERT 0 1") + REFUSED + IDLE) == ["failed pg.a+b.commit"]
    assert talk.client(run("INSERT INTO c VALUES (1)") + SYNC) == ["park pg.c.commit"]
    assert talk.server(done("INSERT 0 1") + IDLE) == ["landed pg.c.commit"]


def test_transactions_in_one_pipeline_land_one_after_the_other():
    talk = Talk()
    texts = ("BEGIN", "INSERT INTO a VALUES (1)", "COMMIT", "BEGIN", "INSERT INTO b VALUES (1)", "COMMIT")
    sent = b"".join(map(run, texts))
    assert talk.client(sent + SYNC) == ["park pg.a.commit", "park pg.b.commit"]
    assert talk.to_server.replace(FLUSH, b"") == sent + SYNC
    assert talk.to_server.count(FLUSH) == 2, "the server is asked to answer at each"
    first = done("BEGIN") + done("INSERT 0 1") + done("COMMIT")
    assert talk.server(first) == ["landed pg.a.commit"]
    assert talk.to_client == first
    assert talk.server(done("BEGIN") + done("INSERT 0 1") + REFUSED + IDLE) == ["failed pg.b.commit"]


def test_a_client_that_flushes_gets_its_answers_before_it_syncs():
    talk = Talk()
    assert talk.client(run("INSERT INTO t VALUES (1)") + FLUSH) == []
    assert talk.to_server == run("INSERT INTO t VALUES (1)") + FLUSH
    talk.server(done("INSERT 0 1"))
    assert talk.to_client == done("INSERT 0 1")
    assert talk.client(SYNC) == ["park pg.t.commit"]
    assert talk.server(IDLE) == ["landed pg.t.commit"]


def test_after_an_error_nothing_is_expected_until_sync():
    talk = Talk()
    talk.client(run("broken") + FLUSH)
    talk.server(REFUSED)
    assert talk.client(run("INSERT INTO t VALUES (1)") + SYNC) == []
    talk.server(IDLE)
    assert talk.client(run("INSERT INTO t VALUES (1)") + SYNC) == ["park pg.t.commit"]


def test_a_copy_is_durable_once_the_client_says_that_it_was_all():
    talk = Talk()
    assert talk.client(query("COPY t (a) FROM STDIN")) == []
    talk.server(message(b"G", b"\0\0\1\0\0"))
    assert talk.client(message(b"d", b"INSERT INTO no\n")) == []
    assert talk.client(message(b"c")) == ["park pg.t.commit"]
    assert talk.server(done("COPY 1") + IDLE) == ["landed pg.t.commit"]


def test_a_copy_by_the_extended_protocol_commits_at_its_second_sync():
    talk = Talk()
    assert talk.client(run("COPY t FROM STDIN") + SYNC) == []
    talk.server(message(b"G", b"\0\0\1\0\0"))
    assert talk.client(message(b"d", b"1\n") + message(b"c")) == []
    assert talk.client(SYNC) == ["park pg.t.commit"]
    assert talk.server(done("COPY 1") + IDLE) == ["landed pg.t.commit"]
    assert talk.client(run("INSERT INTO u VALUES (1)") + SYNC) == ["park pg.u.commit"]
    assert talk.server(done("INSERT 0 1") + IDLE) == ["landed pg.u.commit"]


def test_a_copy_that_the_client_gives_up_is_no_boundary():
    talk = Talk()
    talk.client(query("COPY t FROM STDIN"))
    talk.server(message(b"G", b"\0\0\1\0\0"))
    assert talk.client(message(b"f", b"no\0")) == talk.server(REFUSED + IDLE) == []


def test_two_phases_are_two_boundaries_and_the_second_remembers_what_was_written():
    prepared: dict[str, tuple[str, ...]] = {}
    talk = Talk(prepared=prepared)
    talk.client(query("BEGIN; INSERT INTO t VALUES (1)"))
    talk.server(done("BEGIN") + done("INSERT 0 1") + IN_BLOCK)
    assert talk.client(query("PREPARE TRANSACTION 'x'")) == ["park pg.t.prepare"]
    assert talk.server(done("PREPARE TRANSACTION") + IDLE) == ["landed pg.t.prepare"]
    other = Talk(prepared=prepared)
    assert other.client(query("COMMIT PREPARED 'x'")) == ["park pg.t.commit_prepared"]
    assert other.server(done("COMMIT PREPARED") + IDLE) == ["landed pg.t.commit_prepared"]
    assert other.client(query("ROLLBACK PREPARED 'y'")) == ["park pg.transaction.rollback_prepared"]
    assert other.server(REFUSED + IDLE) == ["failed pg.transaction.rollback_prepared"]


def test_what_was_prepared_by_name_writes_when_it_is_executed():
    talk = Talk()
    assert talk.client(query("PREPARE put (int) AS INSERT INTO t VALUES ($1)")) == []
    talk.server(done("PREPARE") + IDLE)
    assert talk.client(query("EXECUTE put (1)")) == ["park pg.t.commit"]


def test_statements_that_somebody_wants_to_park_at_are_boundaries_inside_of_a_transaction_too():
    talk = Talk("insert into outbox", "select enqueue*")
    talk.client(query("BEGIN"))
    talk.server(done("BEGIN") + IN_BLOCK)
    assert talk.client(query("INSERT  INTO outbox VALUES (1)")) == ["park pg.insert_into_outbox.statement"]
    assert talk.server(done("INSERT 0 1") + IN_BLOCK) == ["landed pg.insert_into_outbox.statement"]
    assert talk.client(run("INSERT INTO other VALUES (1)") + SYNC) == []
    talk.server(done("INSERT 0 1") + IN_BLOCK)
    assert talk.client(query("COMMIT")) == ["park pg.outbox+other.commit"]
    talk.server(done("COMMIT") + IDLE)
    assert talk.client(query("SELECT enqueue_job(4)")) == ["park pg.select_enqueue.commit"]
    assert talk.server(done("SELECT 1") + IDLE) == ["landed pg.select_enqueue.commit"]


def test_what_the_server_sends_last_reaches_the_client_although_nothing_was_decided():
    talk = Talk()
    talk.client(query("INSERT INTO t VALUES (1)"))
    talk.server(REFUSED)
    assert talk.to_client == b""
    assert talk._carry_out(talk.session.ended(), client=False) == ["failed pg.t.commit"]
    assert talk.to_client == REFUSED


def test_wherever_a_stream_is_cut_the_same_comes_out():
    def dialogue(talk: Talk, cut: int | None) -> tuple[list[str], bytes, bytes]:
        client = run("INSERT INTO t VALUES ($1)") + SYNC
        server = message(b"1") + message(b"2") + message(b"D", b"row" * 9) + done("INSERT 0 1") + IDLE
        for play, data in ((talk.client, client), (talk.server, server)):
            for part in [data] if cut is None else (data[:cut], data[cut:]):
                play(part)
        return talk.said, talk.to_server, talk.to_client

    whole = dialogue(Talk(), None)
    assert whole[0] == ["park pg.t.commit", "landed pg.t.commit"]
    assert [cut for cut in range(160) if dialogue(Talk(), cut) != whole] == []


def test_one_byte_at_a_time_is_enough():
    frames = Frames(b"Q", b"Qd")
    data = message(b"d", b"x" * 300) + query("SELECT 1") + message(b"d", b"") + query("SELECT 2")
    pieces = [piece for byte in data for piece in frames.feed(bytes([byte]))]
    assert b"".join(piece for _, piece in pieces) == data
    assert [piece for kind, piece in pieces if kind] == [query("SELECT 1"), query("SELECT 2")]


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n", b"Q\0\0\0\3", b"Q\xff\xff\xff\xff", message(b"Z", b"I"), b"\0\0\0\0\0"]
)
def test_what_is_no_message_of_a_client_is_refused(data):
    with pytest.raises(Misspoken):
        Talk().client(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\7rest", struct.pack(">II", 8, 2 << 16), struct.pack(">II", 1 << 30, 3 << 16),
        struct.pack(">II", 8, 80877103) + b"smuggled", b"GET / HTTP/1.1\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_no_first_packet_is_refused(data):
    with pytest.raises(Misspoken):
        opening_of(data)


def test_a_first_packet_says_what_is_wanted():
    def wish(code: int, rest: bytes = b"") -> Wish:
        opening = opening_of(struct.pack(">II", 8 + len(rest), code) + rest)
        assert opening is not None
        return opening.wish

    assert wish(80877103) is Wish.TLS
    assert wish(80877104) is Wish.GSS
    assert wish(80877102, b"\0" * 8) is Wish.CANCEL
    assert wish(3 << 16, b"user\0me\0\0") is Wish.SESSION
    assert wish(3 << 16 | 2, b"user\0me\0replication\0database\0\0") is Wish.REPLICATION
    assert opening_of(struct.pack(">II", 9, 3 << 16)) is None


@pytest.mark.parametrize("quote", ["$$", "$body$", "'"])
def test_what_is_quoted_is_no_statement(quote):
    assert [one.writes for one in statements_of(f"SELECT {quote}; DELETE FROM a; {quote}; DELETE FROM b")] == [
        (),
        ("b",),
    ]


def test_a_text_of_a_megabyte_is_understood_in_a_moment():
    rows = ", ".join(["(1, 'it''s; COMMIT; DELETE FROM x')"] * 30_000)
    began_s = time.process_time()
    found = statements_of(f"BEGIN; INSERT INTO a VALUES {rows}; COMMIT")
    assert [one.does for one in found] == [Does.BEGIN, Does.WORK, Does.COMMIT]
    assert found[1].writes == ("a",)
    assert time.process_time() - began_s < 3


def test_statements_are_cut_where_they_end():
    body = "SELECT 1; INSERT INTO a VALUES (1)"
    text = f"SELECT 1; CREATE FUNCTION f() RETURNS int BEGIN ATOMIC {body}; END; COMMIT AND CHAIN;"
    found = statements_of(text)
    assert [statement.does for statement in found] == [Does.WORK, Does.WORK, Does.COMMIT]
    assert found[1].writes == ("create_f",)
    assert found[2].chains


CLIENT_SAYS = [
    *map(query, ("BEGIN", "COMMIT", "INSERT INTO t VALUES (1)", "SELECT 1", "COPY t FROM STDIN", "ROLLBACK TO s", "")),
    *map(run, ("BEGIN", "COMMIT", "INSERT INTO t VALUES (1)", "SELECT 1", "COPY t FROM STDIN", "COMMIT PREPARED 'x'")),
    SYNC, message(b"c"), message(b"f", b"no\0"), message(b"d", b"1\n"), message(b"F", b"\0" * 10), message(b"p", b"x"),
]  # fmt: skip
SERVER_SAYS = [
    *map(done, ("BEGIN", "COMMIT", "ROLLBACK", "INSERT 0 1", "UPDATE 0", "COPY 1", "SELECT 1", "PREPARE TRANSACTION")),
    IDLE, IN_BLOCK, BROKEN, REFUSED, message(b"G", b"\0\0\1"), message(b"D", b"row"), message(b"I"), message(b"s"),
    message(b"1"), message(b"N", b"notice"), message(b"A", b"told"),
]  # fmt: skip


@given(
    said=st.lists(
        st.tuples(st.just("client"), st.sampled_from(CLIENT_SAYS))
        | st.tuples(st.just("server"), st.sampled_from(SERVER_SAYS)),
        max_size=30,
    ),
    cut=st.integers(0, 40),
)
@settings(deadline=None, max_examples=100)
def test_whatever_is_said_in_whatever_order_all_of_it_arrives_unchanged_and_each_park_is_decided(said, cut):
    talk = Talk()
    told = {"client": b"", "server": b""}
    for who, data in said:
        play = talk.client if who == "client" else talk.server
        for part in (data[:cut], data[cut:]):
            play(part)
        told[who] += data
    talk.client(SYNC + FLUSH)
    assert talk.to_server.replace(FLUSH, b"") == told["client"] + SYNC
    talk._carry_out(talk.session.ended(), client=False)
    assert talk.to_client == told["server"]
    parks = Counter(text.split()[1] for text in talk.said if text.startswith("park "))
    assert parks == Counter(text.split()[1] for text in talk.said if not text.startswith("park "))


@given(st.binary(max_size=60))
def test_bytes_of_any_kind_are_taken_or_refused(data):
    for take in (Talk().client, opening_of):
        with contextlib.suppress(Misspoken):
            take(data)
