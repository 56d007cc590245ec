"""A stream is a row of boundaries: a worker that dies after half an answer, and what it pays for then."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

# Streams an answer, keeps it in a file, streams a second one, keeps that.
WORKER = """
import json, os, sys
import httpx

PATH, BODY, ENDS = {path!r}, {body!r}, {ends!r}

def ask(text):
    pieces = []
    body = {{**BODY, "stream": True, "messages": [{{"role": "user", "content": text}}]}}
    with httpx.stream("POST", os.environ["MODEL_URL"] + PATH, json=body, timeout=60) as answer:
        pieces = list(answer.iter_lines())
    assert any(ENDS in piece for piece in pieces), "half an answer was taken for a whole one"
    return "\\n".join(pieces)

def keep(name, text):
    with open("new.tmp", "w") as file:
        file.write(text)
    os.replace("new.tmp", name)

for step in ("first", "second"):
    if {remembers} and os.path.exists(step + ".txt"):
        continue
    keep(step + ".txt", ask("Do the " + step + " thing about order 4471"))
"""
CHAT = {"path": "/v1/chat/completions", "body": {"model": "gpt-4o-mini"}, "ends": "[DONE]"}
MESSAGES = {"path": "/v1/messages", "body": {"model": "claude-sonnet", "max_tokens": 100}, "ends": "message_stop"}
PHASES = ["received", "applied", "stream_begun", "stream_half", "stream_whole"]


def run(project, target, *, remembers, shape, **more):
    project.write("agent.py", WORKER.format(remembers=remembers, **shape))
    return project.ackgap(
        "run", "--quiet", "--worker", f"{shlex.quote(sys.executable)} agent.py", "--target", f"model={target}",
        "--env", "MODEL_URL={model.url}", "--point", "model.*:*", **more,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "operation", "shape"), [("openai", "chat", CHAT), ("anthropic", "messages", MESSAGES)]
)
def test_a_worker_dies_at_each_part_of_a_stream_and_asks_once_more(project, target, operation, shape):
    outcome = run(project, target, remembers=True, shape=shape)
    verdicts = {cell.partition("@")[0]: verdict for cell, verdict in outcome.verdicts.items()}
    for occurrence in (1, 2):
        for phase in PHASES:
            assert verdicts.pop(f"model.{operation}#{occurrence}:{phase}") == "ok"
    assert set(verdicts.values()) == {"ok"}
    assert outcome.status == 0


@pytest.mark.slow
def test_an_answer_that_was_kept_and_is_asked_for_again_is_wasted_money(project):
    outcome = run(project, "openai", remembers=False, shape=CHAT)
    verdicts = {cell.partition("@")[0]: verdict for cell, verdict in outcome.verdicts.items()}
    for phase in PHASES[1:]:
        assert verdicts[f"model.chat#1:{phase}"] == "ok", phase  # nothing was kept yet
        assert verdicts[f"model.chat#2:{phase}"] == "wasted", phase
    history = outcome.history("model.chat#2:stream_half@default")
    first_life = [
        event["phase"]
        for event in history
        if event["kind"] == "boundary_reached" and event["name"] == "model.chat" and event["incarnation"] == 1
    ]
    assert first_life[-2:] == ["stream_begun", "stream_half"]
    (dropped,) = [event for event in history if event["kind"] == "attempt_dropped"]
    assert dropped["cost"] > 0
    cells = [json.loads(line) for line in (outcome.directory / "cells.jsonl").read_text().splitlines()]
    (cell,) = [cell for cell in cells if cell["cell"] == "model.chat#2:stream_half@default"]
    (finding,) = [finding for finding in cell["findings"] if finding["kind"] == "wasted"]
    assert finding["detail"]["cost"] > 0
    assert finding["detail"]["currency"] == "USD"
    assert "the repeats cost 0.000" in finding["summary"]
