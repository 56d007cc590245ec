"""The real slack_sdk, unmodified, against the Slack profile: only its base address and its token are ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from ackgap.model.boundary import Phase
from ackgap.model.event import AttemptReceived, Decision, EffectApplied


def client(bench: Any) -> WebClient:
    return WebClient(token="xoxb-fake", base_url=f"http://127.0.0.1:{bench.service.port}/api/")


def test_what_the_client_posts_is_found_in_the_history(run, bench):
    async def work() -> Any:
        async with bench("slack") as b:

            def call() -> Any:
                slack = client(b)
                first = slack.chat_postMessage(channel="C1", text="hello")
                slack.chat_postMessage(channel="C1", text="again", thread_ts=first["ts"])
                history = slack.conversations_history(channel="C1", limit=1)
                replies = slack.conversations_replies(channel="C1", ts=first["ts"])
                return first["ts"], history.data, [message["text"] for message in replies["messages"]]

            return await asyncio.to_thread(call)

    ts, history, replies = run(work())
    assert ts.partition(".")[2] == "000001"
    assert [message["text"] for message in history["messages"]] == ["again"]
    assert history["has_more"]
    assert replies == ["again"]


def test_the_client_raises_the_error_of_an_answer_of_200(run, bench):
    async def work() -> Any:
        async with bench("slack") as b:

            def call() -> Any:
                with pytest.raises(SlackApiError) as raised:
                    client(b).chat_postMessage(channel="", text="x")
                return raised.value.response["error"]

            return await asyncio.to_thread(call)

    assert run(work()) == "invalid_arguments"


@pytest.mark.slow
def test_the_client_itself_posts_again_when_an_answer_is_lost_so_one_call_is_two_messages(run, bench, parking_gate):
    async def work() -> Any:
        gate = parking_gate(Phase.APPLIED)
        async with bench("slack", gate=gate) as b:
            post = lambda: client(b).chat_postMessage(channel="C1", text="hello")  # noqa: E731
            calling = asyncio.ensure_future(asyncio.to_thread(post))
            await gate.parked()
            gate.phases.clear()
            gate.sever(1)
            return (await calling)["ok"], b.recorder

    ok, recorder = run(work())
    assert ok
    assert [attempt.key for attempt in recorder.of(AttemptReceived)] == [None, None]
    assert len(recorder.of(EffectApplied)) == 2


def test_a_client_msg_id_keeps_a_second_call_from_posting_where_the_service_is_said_to_look_at_it(run, bench):
    async def work() -> Any:
        async with bench("slack", "client-msg-id") as b:

            def call() -> Any:
                slack = client(b)
                return [slack.chat_postMessage(channel="C1", text="x", client_msg_id="k")["ts"] for _ in range(2)]

            return await asyncio.to_thread(call), [
                event.decision for event in b.recorder.events if hasattr(event, "rule")
            ]

    (one, two), decisions = run(work())
    assert one == two
    assert decisions == [Decision.APPLIED, Decision.REPLAYED]
