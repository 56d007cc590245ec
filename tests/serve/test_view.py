"""What a terminal shows of targets while they are served."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from rich.console import Console

from ackgap.model.event import Note
from ackgap.serve.view import JsonView, LiveView, PlainView

CHARGE = {"amount": "2000", "currency": "eur"}
LONG = "order-2026-11-29-000017-of-a-very-long-key"


@pytest.fixture
def seen(with_targets, asked):
    """Return what a view wrote about three charges, two of them under one key, and a path that does not exist."""

    def run(make_view, *, width):
        async def work(targets):
            screen = io.StringIO()
            console = Console(
                file=screen, width=width, height=30, force_terminal=True, color_system=None, highlight=False
            )
            view = make_view(console, targets)
            view.began({"STRIPE_URL": targets.urls["stripe"]}, "http://127.0.0.1:1/__ackgap")
            targets.watch.listen(view.seen)
            keeping = asyncio.create_task(view.keep())
            url = targets.urls["stripe"]
            for key in (LONG, "k", "k"):
                await asyncio.to_thread(asked, f"{url}/v1/charges", form=CHARGE, idempotency_key=key)
            await asyncio.to_thread(asked, f"{url}/nothing/%1B[2J")
            targets.forward(86_400)
            await asyncio.sleep(0)
            keeping.cancel()
            # What the next picture would be, without waiting for its time.
            picture = io.StringIO()
            if isinstance(view, LiveView):
                view.draw()
                Console(file=picture, width=width, height=30).print(view.picture)
            view.ended()
            return screen.getvalue(), picture.getvalue()

        return with_targets(work, "stripe")

    return run


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_live_ledger_shows_effects_decisions_and_keys_in_any_width(seen, width):
    _, picture = seen(LiveView, width=width)
    lines = picture.splitlines()
    assert max(map(len, lines)) <= width
    (heading,) = [line for line in lines if "decision" in line]
    assert "effect" in heading
    assert "key" in heading
    assert sum("effect ×2" in line for line in lines) == 1
    assert sum("200 replayed" in line for line in lines) == 1
    assert "24 h ahead" in picture
    assert "4 attempts, 2 effects, 1 action repeated" in picture


def test_the_summary_names_the_action_that_was_repeated_and_its_objects(seen):
    text, _ = seen(PlainView, width=100)
    assert "×2  stripe.charges.create: amount 2000, currency eur  ch_0001, ch_0002  repeated" in text


def test_a_summary_that_no_terminal_shows_is_not_cut(seen):
    text, _ = seen(PlainView, width=40)
    assert "×2  stripe.charges.create: amount 2000, currency eur  ch_0001, ch_0002  repeated" in text


def test_a_call_of_a_model_is_told_as_paid(with_targets, asked):
    screen = io.StringIO()

    async def work(targets):
        view = PlainView(Console(file=screen, width=100), targets)
        targets.watch.listen(view.seen)
        url = targets.urls["model"]
        question = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
        await asyncio.to_thread(asked, f"{url}/v1/chat/completions", body=question)
        await asyncio.to_thread(asked, f"{url}/v1/models")

    with_targets(work, "model")
    chat, models = screen.getvalue().splitlines()
    assert "200 paid" in chat
    assert "200 read" in models


def test_plain_lines_are_one_for_each_attempt_whatever_their_length(seen):
    text, _ = seen(PlainView, width=40)
    (first,) = [line for line in text.splitlines() if LONG in line]
    assert first.endswith("ch_0001")
    assert "effect" in first
    assert "· the clock was moved by 86400 seconds" in text


def test_json_lines_are_never_broken(seen):
    text, _ = seen(JsonView, width=20)
    kinds = [json.loads(line)["kind"] for line in text.splitlines()]
    assert kinds[0] == "serving"
    assert kinds[-1] == "totals"
    assert kinds.count("attempt_received") == 4
    assert Note.kind in kinds
