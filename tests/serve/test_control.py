"""Targets that are served alone, steered and read through their control port."""

from __future__ import annotations

import asyncio
import socket

import pytest

from ackgap.errors import UsageInvalid
from ackgap.serve.control import ControlPort

CHARGE = {"amount": "2000", "currency": "eur"}


@pytest.fixture
def steered(with_targets, asked):
    """Run a coroutine function that gets targets and two askers: of a path of the control port, of any address."""

    def run(work, *texts, **more):
        async def beside(targets):
            control = ControlPort(targets)
            await control.start()

            async def ask(path, **request):
                return await asyncio.to_thread(asked, control.url + path, **request)

            async def charge(**request):
                return await asyncio.to_thread(asked, targets.urls["stripe"] + "/v1/charges", form=CHARGE, **request)

            try:
                return await work(targets, ask, charge)
            finally:
                await control.stop()

        return with_targets(beside, *(texts or ("stripe",)), **more)

    return run


def test_a_key_is_forgotten_once_the_clock_has_moved_beyond_its_window(steered):
    async def work(targets, ask, charge):
        first = await charge(idempotency_key="k")
        assert await charge(idempotency_key="k") == first
        status, clock = await ask("/clock", body={"forward": "23h"})
        assert (status, clock["offset_s"]) == (200, 82_800)
        assert await charge(idempotency_key="k") == first
        await ask("/clock", body={"forward": 3600})
        assert (await charge(idempotency_key="k"))[1]["id"] != first[1]["id"]
        return (await ask("/ledger"))[1]

    ledger = steered(work)
    assert ledger["totals"]["attempts"] == 4
    (action,) = ledger["totals"]["actions"]
    assert (action["effects"], action["repeated"]) == (2, True)
    decisions = [event["decision"] for event in ledger["events"] if event["kind"] == "attempt_answered"]
    assert decisions == ["applied", "replayed", "replayed", "applied"]
    assert [event["code"] for event in ledger["events"] if event["kind"] == "note"] == ["clock_moved", "clock_moved"]


def test_the_clock_begins_ahead_and_a_reset_takes_it_back_there(steered):
    async def work(targets, ask, charge):
        await charge(idempotency_key="k")
        await ask("/clock", body={"forward": "1h"})
        clock = (await ask("/reset", method="POST"))[1]
        ledger = (await ask("/ledger"))[1]
        again = await charge(idempotency_key="k")
        return clock["offset_s"], ledger, again[1]["id"]

    offset_s, ledger, object_id = steered(work, offset_s=259_200.0)
    assert offset_s == 259_200
    assert ledger["totals"] == {"attempts": 0, "effects": 0, "costs": {}, "actions": []}
    assert object_id == "ch_0001"


def test_all_targets_share_the_clock_and_the_numbering_of_attempts(steered):
    async def work(targets, ask, charge):
        await charge()
        await asyncio.to_thread(_post, targets.urls["second"] + "/v1/charges")
        return (await ask("/ledger"))[1]["events"]

    def _post(url):
        from urllib.request import ProxyHandler, build_opener

        with build_opener(ProxyHandler({})).open(url, data=b"amount=1&currency=eur", timeout=30) as answer:
            answer.read()

    events = steered(work, "stripe", "second:stripe")
    received = [event for event in events if event["kind"] == "attempt_received"]
    assert [(event["attempt"], event["operation"]) for event in received] == [
        (1, "stripe.charges.create"),
        (2, "second.charges.create"),
    ]


@pytest.mark.parametrize(
    ("path", "request_", "status", "said"),
    [
        ("/clock", {"body": {"forward": "-1h"}}, 400, "is not a duration"),
        ("/clock", {"body": {"forward": -1}}, 400, "is not a duration"),
        ("/clock", {"body": {"forward": True}}, 400, "is not a duration"),
        ("/clock", {"body": {"forward": None}}, 400, "is not a duration"),
        ("/clock", {"body": {"forward": [1]}}, 400, "is not a duration"),
        ("/clock", {"body": {"forward": "1000000d"}}, 400, "hundred years"),
        ("/clock", {"body": {}}, 400, "forward"),
        ("/clock", {"body": [1]}, 400, "forward"),
        ("/clock", {"body": b"\xff{"}, 400, "forward"),
        ("/clock", {"body": b"[" * 100_000}, 400, "forward"),
        ("/clock", {"body": b"", "method": "PUT"}, 405, "GET and POST"),
        ("/reset", {}, 405, "POST"),
        ("/ledger?since=x", {}, 400, "seq"),
        ("/ledger?since=-1", {}, 400, "seq"),
        ("/nothing", {}, 404, "/__ackgap/ledger"),
        ("/ledger", {"origin": "https://page.example"}, 403, "web pages"),
        ("/reset", {"method": "POST", "origin": "null"}, 403, "web pages"),
        ("/ledger", {"host": "page.example:80"}, 403, "web pages"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_in_words_and_changes_nothing(steered, path, request_, status, said):
    async def work(targets, ask, charge):
        await charge()
        before = targets.watch.document()
        answer = await ask(path, **request_)
        assert targets.watch.document() == before
        assert targets.offset_s == 0
        return answer

    found, document = steered(work)
    assert found == status
    assert said in document["error"]


def test_the_clock_goes_no_further_in_steps_than_at_once(steered):
    async def work(targets, ask, charge):
        assert (await ask("/clock", body={"forward": "30000d"}))[0] == 200
        assert (await ask("/clock", body={"forward": "30000d"}))[0] == 400
        return await charge()

    assert steered(work)[0] == 200


def test_a_port_that_is_taken_is_told_in_one_sentence_with_the_word_that_asked_for_it(with_targets):
    async def nothing(targets):
        raise AssertionError("it was served")

    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(UsageInvalid) as caught:
            with_targets(nothing, "any", f"stripe={port}")
    assert caught.value.what == f"Port {port} is taken."
    assert caught.value.where == f"stripe={port}"


def test_a_setting_with_a_wrong_value_is_told_with_its_option(with_targets):
    async def nothing(targets):
        raise AssertionError("it was served")

    with pytest.raises(UsageInvalid) as caught:
        with_targets(nothing, "approval", settings=["approval.after_s=soon"])
    assert caught.value.where == "--set approval.after_s"


def test_declared_reads_have_no_effect(with_targets, asked):
    async def work(targets):
        await asyncio.to_thread(asked, targets.urls["any"] + "/search", body={"q": "x"})
        return targets.watch.effect_count

    assert with_targets(work, "any") == 1
    assert with_targets(work, "any", reads=("any.POST/search",)) == 0
