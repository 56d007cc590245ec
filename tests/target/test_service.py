"""Attempts over a real socket: order of events, parking, death, and everything a client can do wrong."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket

import pytest

from ackgap.errors import HarnessFailed, ScenarioInvalid
from ackgap.model.boundary import Phase
from ackgap.model.event import (
    AttemptAnswered,
    AttemptDropped,
    AttemptReceived,
    ClientGaveUp,
    Decision,
    DiscardedAtDeath,
    EffectApplied,
    Note,
)
from ackgap.target.ledger import Numbering
from ackgap.target.service import TargetService
from ackgap.target.wire.connection import BODY_BYTES

TICKET = {"partner_id": "4471", "kind": "review"}


def test_an_attempt_is_received_applied_and_answered_in_that_order(run, bench):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            answer = await wire.ask("POST", "/tickets?trace=1", TICKET, {"Idempotency-Key": "k"})
            assert answer.status == 201
            await b.recorder.seen(AttemptAnswered)
            return b.recorder.events, answer.json()

    (received, applied, answered), document = run(work())
    assert isinstance(received, AttemptReceived)
    assert (received.operation, received.occurrence, received.key) == ("tickets.create", 1, "k")
    assert (received.method, received.path, received.query) == ("POST", "/tickets", {"trace": "1"})
    assert received.payload == TICKET
    assert isinstance(applied, EffectApplied)
    assert applied.object_id == document["id"] == answered.object_id
    assert applied.identity == {"body.partner_id": "4471", "body.kind": "review"}
    assert applied.attempt == answered.attempt == received.attempt == 1
    assert (answered.decision, answered.status) == (Decision.APPLIED, 201)


def test_one_connection_carries_request_after_request(run, bench):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            for number in range(3):
                assert (await wire.ask("POST", "/tickets", TICKET | {"n": number})).status == 201
            assert (await wire.ask("GET", "/tickets?partner_id=4471")).json()["count"] == 3
            assert b.service.open_connections(1) == 1
            return b.recorder.of(AttemptReceived)

    assert [event.occurrence for event in run(work())] == [1, 2, 3, 1]


def test_requests_sent_ahead_are_answered_in_order(run, bench, as_bytes):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            await wire.send(as_bytes("POST", "/tickets", TICKET) + as_bytes("GET", "/tickets/T-0001"))
            return (await wire.answer()).status, (await wire.answer()).json()["id"]

    assert run(work()) == (201, "T-0001")


def test_effects_and_paid_reads_pass_both_phases_and_plain_reads_none(run, bench, parking_gate):
    async def work():
        gate = parking_gate()
        async with bench("case-management", "natural-key", gate=gate) as b, b.connect() as wire:
            await wire.ask("GET", "/tickets")
            await wire.ask("POST", "/tickets", TICKET)
            await wire.ask("POST", "/tickets", TICKET)
            b.begin("search")
        async with bench("search", gate=gate) as b, b.connect() as wire:
            assert (await wire.ask("GET", "/search?q=x")).status == 200
            (answered,) = b.recorder.of(AttemptAnswered)
            assert (answered.decision, answered.cost) == (Decision.READ, 0.04)
        return gate.passed

    create = [("tickets.create", Phase.RECEIVED), ("tickets.create", Phase.APPLIED)]
    query = [("tickets.query", Phase.RECEIVED), ("tickets.query", Phase.APPLIED)]
    assert run(work()) == create + create + query


def test_an_operation_declared_a_read_has_no_effect_and_no_phases(run, bench, parking_gate):
    async def work():
        gate = parking_gate()
        async with bench("any", gate=gate, reads=("tickets.POST/search*",)) as b, b.connect() as wire:
            assert (await wire.ask("POST", "/search", {"q": "x"})).status == 201
            (answered,) = b.recorder.of(AttemptAnswered)
            return gate.passed, b.recorder.of(EffectApplied), answered.decision

    assert run(work()) == ([], [], Decision.READ)


def test_a_life_that_ends_at_received_leaves_nothing(run, bench, parking_gate):
    async def work():
        gate = parking_gate(Phase.RECEIVED)
        async with bench("case-management", "idempotency-key", gate=gate) as b, b.connect() as wire:
            await wire.send(request(b, {"Idempotency-Key": "k"}))
            await gate.parked()
            gate.sever(1)
            await b.service.drain(1)
            dropped = b.recorder.events[-1]
            assert await wire.end() in {b"", b"reset"}
            gate.phases.clear()
            gate.life = 2
            async with b.connect() as second:
                await second.ask("POST", "/tickets", TICKET, {"Idempotency-Key": "k"})
            return dropped, b.recorder.of(EffectApplied), b.recorder.of(AttemptAnswered)

    dropped, effects, answers = run(work())
    assert isinstance(dropped, AttemptDropped)
    assert dropped.decision is None
    assert [(effect.incarnation, effect.attempt) for effect in effects] == [(2, 2)]
    assert [answer.decision for answer in answers] == [Decision.APPLIED]


def test_a_life_that_ends_at_applied_leaves_the_effect_and_its_key(run, bench, parking_gate):
    async def work():
        gate = parking_gate(Phase.APPLIED)
        async with bench("case-management", "idempotency-key", gate=gate) as b, b.connect() as wire:
            await wire.send(request(b, {"Idempotency-Key": "k"}))
            await gate.parked()
            gate.sever(1)
            await b.service.drain(1)
            (dropped,) = b.recorder.of(AttemptDropped)
            gate.phases.clear()
            gate.life = 2
            async with b.connect() as second:
                again = await second.ask("POST", "/tickets", TICKET, {"Idempotency-Key": "k"})
            return dropped, again, b.recorder.of(EffectApplied), b.recorder.of(AttemptAnswered)

    dropped, again, effects, answers = run(work())
    assert dropped.decision is Decision.APPLIED
    assert [effect.incarnation for effect in effects] == [1]
    assert (again.status, again.json()["id"]) == (201, effects[0].object_id)
    assert [answer.decision for answer in answers] == [Decision.REPLAYED]


def test_two_requests_with_one_key_meet_while_the_first_is_parked(run, bench, parking_gate):
    async def work():
        gate = parking_gate(Phase.APPLIED)
        async with bench("case-management", "idempotency-key", gate=gate) as b, b.connect() as one, b.connect() as two:
            await one.send(request(b, {"Idempotency-Key": "k"}))
            await gate.parked()
            gate.phases.clear()
            meanwhile = await two.ask("POST", "/tickets", TICKET, {"Idempotency-Key": "k"})
            gate.release()
            return meanwhile.status, (await one.answer()).status, len(b.recorder.of(EffectApplied))

    assert run(work()) == (409, 201, 1)


def test_draining_ends_what_is_parked_even_if_the_gate_says_nothing(run, bench, parking_gate):
    async def work():
        gate = parking_gate(Phase.APPLIED)
        async with bench("case-management", gate=gate) as b, b.connect() as wire:
            await wire.send(request(b))
            await gate.parked()
            assert b.service.requests_in_flight() == 1
            await b.service.drain(1)
            assert b.service.requests_in_flight() == 0
            await b.until(lambda: not b.service.open_connections(1))
            return b.recorder.of(AttemptDropped), b.recorder.of(ClientGaveUp)

    dropped, gave_up = run(work())
    assert [event.decision for event in dropped] == [Decision.APPLIED]
    assert gave_up == []


def test_a_drained_life_can_connect_no_more(run, bench):
    async def work():
        async with bench("case-management") as b:
            await b.service.drain(1)
            async with b.connect() as wire:
                assert await wire.end() in {b"", b"reset"}
            return await b.recorder.seen(Note)

    assert run(work()).code == "connection_refused"


def test_draining_one_life_leaves_the_other_alone(run, bench, parking_gate):
    async def work():
        gate = parking_gate()
        async with bench("case-management", gate=gate) as b, b.connect() as old:
            await old.ask("GET", "/tickets")
            gate.life = 2
            async with b.connect() as new:
                await new.ask("GET", "/tickets")
                assert (b.service.open_connections(1), b.service.open_connections(2)) == (1, 1)
                await b.service.drain(1)
                return (await new.ask("GET", "/tickets")).status, await old.end()

    status, end = run(work())
    assert status == 200
    assert end in {b"", b"reset"}


@pytest.mark.parametrize(("cut", "complete"), [(0, True), (1, False)])
def test_what_a_dead_life_had_sent_ahead_is_recorded_as_discarded(run, bench, parking_gate, as_bytes, cut, complete):
    async def work():
        gate = parking_gate(Phase.RECEIVED)
        async with bench("case-management", gate=gate) as b, b.connect() as wire:
            ahead = as_bytes("POST", "/tickets", TICKET)
            ahead = ahead[: len(ahead) - cut]
            await wire.send(request(b) + ahead)
            await gate.parked()
            await b.service.drain(1)
            (event,) = b.recorder.of(DiscardedAtDeath)
            return event, len(ahead), len(b.recorder.of(AttemptReceived))

    event, length, attempts = run(work())
    assert (event.byte_count, event.complete_request, event.incarnation) == (length, complete, 1)
    assert attempts == 1


def test_half_a_request_of_a_dead_life_is_recorded_as_discarded_even_if_its_end_came_first(run, bench, as_bytes):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            half = as_bytes("POST", "/tickets", TICKET)[:-3]
            await wire.send(half)
            await wire.close()
            await b.until(lambda: b.service._cell.remnants and not b.service.open_connections(1))
            await b.service.drain(1)
            return b.recorder.events, len(half)

    (event,), length = run(work())
    assert (event.byte_count, event.complete_request) == (length, False)


def test_a_connection_in_the_backlog_of_a_life_that_died_is_never_served(run, bench, as_bytes):
    async def work():
        async with bench("case-management") as b:
            data = as_bytes("POST", "/tickets", TICKET)
            with socket.create_connection(("127.0.0.1", b.service.port)) as sock:  # the loop has had no turn yet
                sock.sendall(data)
                await b.service.drain(1)
            return b.recorder.events, len(data)

    (event,), length = run(work())
    assert isinstance(event, DiscardedAtDeath)
    assert (event.byte_count, event.complete_request) == (length, True)


def test_a_process_that_is_not_the_workers_is_refused(run, bench, parking_gate):
    async def work():
        gate = parking_gate()
        gate.life = None
        async with bench("case-management", gate=gate) as b, b.connect() as wire:
            assert await wire.end() in {b"", b"reset"}
            return await b.recorder.seen(Note), b.recorder.of(AttemptReceived)

    note, attempts = run(work())
    assert "no process of the worker" in note.text
    assert attempts == []


@pytest.mark.parametrize("phase", [Phase.RECEIVED, Phase.APPLIED])
def test_a_client_that_gives_up_while_parked_is_recorded_and_gets_no_further(run, bench, parking_gate, phase):
    async def work():
        gate = parking_gate(phase)
        async with bench("case-management", gate=gate) as b, b.connect() as wire:
            await wire.send(request(b))
            await gate.parked()
            await wire.close()
            await b.until(lambda: next(iter(b.service._cell.connections)).gone)
            gate.release(stop_parking=True)
            await b.recorder.seen(AttemptDropped)
            return b.recorder

    recorder = run(work())
    assert [event.attempt for event in recorder.of(ClientGaveUp)] == [1]
    assert len(recorder.of(EffectApplied)) == (0 if phase is Phase.RECEIVED else 1)
    assert recorder.of(AttemptAnswered) == []


def test_a_client_that_gave_up_before_the_kill_is_told_apart_from_one_that_died(run, bench, parking_gate):
    async def work(kill_first: bool):
        gate = parking_gate(Phase.APPLIED)
        async with bench("case-management", gate=gate) as b, b.connect() as wire:
            await wire.send(request(b))
            await gate.parked()
            if kill_first:
                b.service.expect_death(1)
            await wire.close()
            await b.until(lambda: next(iter(b.service._cell.connections)).gone)
            b.service.expect_death(1)
            gate.sever(1)
            await b.service.drain(1)
            return len(b.recorder.of(ClientGaveUp)), len(b.recorder.of(AttemptDropped))

    assert run(work(kill_first=False)) == (1, 1)
    assert run(work(kill_first=True)) == (0, 1)


def test_a_new_cell_drops_old_connections_and_they_record_nothing_more(run, bench, parking_gate):
    async def work():
        gate = parking_gate(Phase.APPLIED)
        async with bench("case-management", gate=gate) as b, b.connect() as wire:
            await wire.send(request(b))
            await gate.parked()
            old, count = b.recorder, len(b.recorder.events)
            b.begin("case-management")
            assert await wire.end() in {b"", b"reset"}
            gate.release(stop_parking=True)
            async with b.connect() as fresh:
                assert (await fresh.ask("GET", "/tickets")).json()["count"] == 0
                assert (await fresh.ask("POST", "/tickets", TICKET)).json()["id"] == "T-0001"
            return len(old.events) - count, [event.attempt for event in b.recorder.of(AttemptReceived)]

    assert run(work()) == (0, [1, 2])


def test_numbers_run_over_all_targets_of_a_cell(run, bench):
    async def work():
        numbers = Numbering()
        async with bench("any", numbers=numbers) as one, bench("any", numbers=numbers) as two:
            async with one.connect() as first, two.connect() as second:
                await first.ask("POST", "/a", {})
                await second.ask("GET", "/a")
                await second.ask("POST", "/a", {})
            attempts = [e.attempt for b in (one, two) for e in b.recorder.of(AttemptReceived)]
            return attempts, [e.effect for b in (one, two) for e in b.recorder.of(EffectApplied)]

    assert run(work()) == ([1, 2, 3], [1, 2])


def test_the_port_stays_from_cell_to_cell_and_a_taken_one_is_refused_clearly(run):
    async def work():
        service = TargetService("tickets")
        port = await service.start()
        assert service.url == f"http://127.0.0.1:{port}"
        with pytest.raises(HarnessFailed, match=f"'mail' cannot listen on 127.0.0.1:{port}"):
            await TargetService("mail", port=port).start()
        await service.stop()
        again = TargetService("tickets", port=port)
        assert await again.start() == port
        await again.stop()

    run(work())


def test_an_unknown_protection_or_setting_is_the_scenarios_mistake(run, bench):
    async def work(protection, settings):
        async with bench("approval", protection, settings=settings):
            pass

    with pytest.raises(ScenarioInvalid, match=r"no protection 'vow'[\s\S]*targets.tickets.protection"):
        run(work("vow", {}))
    with pytest.raises(ScenarioInvalid, match=r"no setting 'when'[\s\S]*decision, after_s"):
        run(work(None, {"when": 1}))
    with pytest.raises(ScenarioInvalid, match="approved, rejected"):
        run(work(None, {"decision": "maybe"}))


# ------------------------------------------------------------------ what clients can do wrong, and unusual things right


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/nothing/7", 404), ("DELETE", "/tickets", 405), ("POST", "/tickets/7", 405)],
)
def test_an_unknown_path_or_method_is_refused_and_recorded(run, bench, method, path, status):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            answer = await wire.ask(method, path)
            return answer, b.recorder.of(AttemptReceived), await b.recorder.seen(AttemptAnswered)

    answer, (received,), answered = run(work())
    assert answer.status == answered.status == status
    assert answered.decision is Decision.UNKNOWN_PATH
    assert received.effectful is False
    assert received.operation.startswith(f"tickets.{method}/")


@pytest.mark.parametrize(
    "data",
    [
        b"HELLO\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"POST /x HTTP/1.1\r\nno colon\r\n\r\n",
    ],
    ids=["not HTTP", "TLS", "bad header"],
)
def test_bytes_that_are_no_request_are_refused_recorded_and_disturb_nobody(run, bench, data):
    async def work():
        async with bench("case-management") as b, b.connect() as good, b.connect() as bad:
            await good.ask("GET", "/tickets")
            await bad.send(data)
            assert (await bad.answer()).status == 400
            assert await bad.end() == b""
            assert (await good.ask("GET", "/tickets")).status == 200
            return [e.operation for e in b.recorder.of(AttemptReceived)], b.recorder.of(AttemptAnswered)

    operations, answers = run(work())
    assert operations == ["tickets.find", "tickets.malformed", "tickets.find"]
    assert answers[1].decision is Decision.MALFORMED


def test_a_huge_header_is_refused(run, bench):
    async def work():
        async with bench("any") as b, b.connect() as wire:
            await wire.send(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 70_000)
            return (await wire.answer()).status, (await b.recorder.seen(AttemptAnswered)).decision

    assert run(work()) == (431, Decision.MALFORMED)


def test_a_huge_body_is_refused_before_it_is_read(run, bench):
    async def work():
        async with bench("any") as b, b.connect() as wire:
            await wire.send(f"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: {BODY_BYTES + 1}\r\n\r\n".encode())
            answer = await wire.answer()
            return answer.status, (await b.recorder.seen(AttemptAnswered)).decision, b.recorder.of(EffectApplied)

    assert run(work()) == (413, Decision.MALFORMED, [])


def test_a_small_body_that_unpacks_to_a_huge_one_is_refused(run, bench):
    async def work():
        bomb = gzip.compress(b"0" * (BODY_BYTES + 1), compresslevel=1)
        async with bench("any") as b, b.connect() as wire:
            answer = await wire.ask("POST", "/x", bomb, {"Content-Encoding": "gzip"})
            return answer.status, b.recorder.of(EffectApplied)

    assert run(work()) == (413, [])


def test_a_body_that_is_not_what_it_says_is_malformed_at_a_described_service(run, bench):
    async def work():
        async with bench("stripe") as b, b.connect() as wire:
            answer = await wire.ask("POST", "/v1/charges", b"{not json", {"Content-Type": "application/json"})
            return answer.status, answer.json()["error"]["type"], (await b.recorder.seen(AttemptAnswered)).decision

    assert run(work()) == (400, "invalid_request_error", Decision.MALFORMED)


def test_a_chunked_body_a_slow_one_and_a_packed_one_arrive_whole(run, bench):
    async def work():
        raw = json.dumps(TICKET).encode()
        async with bench("case-management") as b, b.connect() as wire:
            head = b"POST /tickets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            await wire.send(head + b"Transfer-Encoding: chunked\r\n\r\n")
            for byte in raw:
                await wire.send(b"1\r\n" + bytes([byte]) + b"\r\n")
                await asyncio.sleep(0)
            await wire.send(b"0\r\n\r\n")
            assert (await wire.answer()).status == 201
            packed = gzip.compress(raw)
            assert (await wire.ask("POST", "/tickets", packed, {"Content-Encoding": "gzip"})).status == 201
            return [event.payload for event in b.recorder.of(AttemptReceived)]

    assert run(work()) == [TICKET, TICKET]


def test_a_client_that_waits_for_leave_to_send_its_body_gets_it(run, bench):
    async def work():
        async with bench("any") as b, b.connect() as wire:
            await wire.send(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            assert (await wire.answer()).status == 100
            assert b.recorder.events == []
            await wire.send(b"{}")
            return (await wire.answer()).status

    assert run(work()) == 201


def test_head_has_the_headers_of_get_and_no_body(run, bench):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            head = await wire.ask("HEAD", "/tickets")
            get = await wire.ask("GET", "/tickets")
            return head, get, [event.operation for event in b.recorder.of(AttemptReceived)]

    head, get, operations = run(work())
    assert (head.status, head.headers) == (get.status, get.headers)
    assert operations == ["tickets.find", "tickets.find"]


def test_a_gate_that_fails_is_noted_and_the_service_goes_on(run, bench, parking_gate):
    async def work():
        gate = parking_gate()
        async with bench("case-management", gate=gate) as b:
            broken = gate.occurrence_of
            gate.occurrence_of = lambda *_: 1 / 0
            async with b.connect() as wire:
                await wire.send(request(b))
                assert await wire.end() in {b"", b"reset"}
            gate.occurrence_of = broken
            async with b.connect() as wire:
                assert (await wire.ask("POST", "/tickets", TICKET)).status == 201
            return b.recorder.of(Note)

    (note,) = run(work())
    assert note.code == "target_failed"
    assert "ZeroDivisionError" in note.text


def test_the_name_of_a_boundary_is_known_before_the_request_is_sent(run, bench):
    async def work():
        async with bench("case-management") as b:
            service = b.service
            return [
                service.boundary_name("POST", "/tickets?x=1"),
                service.boundary_name("post", "http://127.0.0.1:1/tickets/T-1/close"),
                service.boundary_name("GET", "/tickets"),
                service.boundary_name("POST", "/nowhere"),
            ]

    assert run(work()) == ["tickets.create", "tickets.close", None, None]


def request(b, headers=None):
    raw = json.dumps(TICKET).encode()
    lines = ["POST /tickets HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(raw)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + raw
