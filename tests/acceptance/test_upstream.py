"""Targets in front of a service that this project did not write: moto, which serves APIs of AWS on this machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from queue import Queue
from typing import IO

import pytest

from ackgap.execute.isolation import can_isolate

PROOF = (
    "AWS4-HMAC-SHA256 Credential=AKIAABCDEFGHIJKLMNOP/20261129/us-east-1/SERVICE/aws4_request, "
    "SignedHeaders=host, Signature=0badc0ffee0badc0ffee"
)
SCOPES = {"AmazonSQS": "sqs", "AWSStepFunctions": "states"}
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:pay"

CALL = f"""
import json, os, random, sys, urllib.request

def call(url, service, action, body):
    headers = {{
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": service + "." + action,
        "Authorization": {PROOF!r}.replace("SERVICE", {SCOPES!r}[service]),
    }}
    request = urllib.request.Request(url + "/", json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))
"""
SEND = (
    CALL
    + """
call(os.environ["AWS_URL"], "AmazonSQS", "SendMessage", {
    "QueueUrl": "http://sqs/123456789012/jobs",
    "MessageBody": "pay",
    "MessageAttributes": {"reference": {"DataType": "String", "StringValue": os.environ["REFERENCE"]}},
})
"""
)
START = (
    CALL
    + f"""
name = os.environ["REFERENCE"].replace("RANDOM", str(random.randrange(10**12)))
call(os.environ["AWS_URL"], "AWSStepFunctions", "StartExecution",
     {{"stateMachineArn": "{MACHINE}", "name": name, "input": "{{}}"}})
"""
)
# A profile of one's own: a service that recognises an execution by its name, and gives the same one again.
STATES = """
name = "states"
title = "Step Functions"
about = "Executions."
default_protection = "none"

[[sources]]
claim = "An execution is started under a name."
url = "https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html"
date = "2026-11-29"
grade = "vendor"

[[operations]]
name = "executions.start"
method = "POST"
path = "/"
match = { "header.x-amz-target" = "AWSStepFunctions.StartExecution" }
does = "create"
effect = true
noun = ["execution", "executions"]
identity = ["body.stateMachineArn"]
answer = { status = 200, body = { executionArn = "{object.id}" } }

[protections.none]
title = "none"
"""


def post(url: str, target: str, body: dict) -> dict:
    proof = PROOF.replace("SERVICE", SCOPES[target.partition(".")[0]])
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": target, "Authorization": proof}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/", json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


def furnish(url: str) -> None:
    post(url, "AmazonSQS.CreateQueue", {"QueueName": "jobs"})
    definition = json.dumps({"StartAt": "a", "States": {"a": {"Type": "Pass", "End": True}}})
    role = "arn:aws:iam::123456789012:role/r"
    post(url, "AWSStepFunctions.CreateStateMachine", {"name": "pay", "definition": definition, "roleArn": role})


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    urls: Queue[str] = Queue()

    def listen(lines: IO[str]) -> None:
        for line in lines:  # all of them, or the server waits for somebody to read what it prints
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                urls.put(found[0])

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        reader = threading.Thread(target=listen, args=(server.stderr,))
        reader.start()
        try:
            url = urls.get(timeout=60)
            furnish(url)
            yield url
        finally:
            server.terminate()
            reader.join(10)


@pytest.fixture
def run_on(project):
    def run(worker: str, target: str, *more: str, reference: str = "r-{cell}", out: str = "out"):
        project.write("agent.py", worker)
        project.write("states.toml", STATES)
        command = ["run", "--quiet", "--worker", "python agent.py", "--target", f"aws={target}"]
        command += ["--env", "AWS_URL={aws.url}", "--env", f"REFERENCE={reference}"]
        return project.ackgap(*command, *more, out=out)

    return run


def verdicts(outcome) -> dict[str, str]:
    return {cell.partition("#1:")[2].partition("@")[0] or cell: kind for cell, kind in outcome.verdicts.items()}


def test_finds_the_duplicate_that_a_real_service_made(run_on, moto):
    outcome = run_on(SEND, "sqs", "--protection", "aws=standard", "--upstream", f"aws={moto}")
    assert outcome.status == 1, outcome.err
    assert verdicts(outcome) == {
        "undisturbed@default": "ok",
        "received": "ok",
        "applied": "duplicate",
        "returned": "duplicate",
    }
    effects = [event for event in outcome.history(cell_of(outcome, "applied")) if event["kind"] == "effect_applied"]
    assert len({event["object_id"] for event in effects}) == 2
    assert f"goes on to {moto} (on this machine)" in " ".join(outcome.out.split())


@pytest.mark.slow
def test_an_object_that_the_service_gives_again_is_a_repeat_that_it_recognised(run_on, moto):
    stable = run_on(START, "states.toml", "--upstream", f"aws={moto}")
    assert stable.status == 0, stable.out
    answers = [e for e in stable.history(cell_of(stable, "applied")) if e["kind"] == "attempt_answered"]
    assert [event["rule"] for event in answers] == ["the upstream gave the same object again"]
    fresh = run_on(START, "states.toml", "--upstream", f"aws={moto}", reference="n-RANDOM", out="fresh")
    assert verdicts(fresh)["applied"] == "duplicate"


@pytest.mark.slow
def test_a_reference_that_is_the_same_in_each_cell_is_answered_from_the_past_and_proves_nothing(run_on, moto):
    outcome = run_on(START, "states.toml", "--upstream", f"aws={moto}", reference="always")
    assert outcome.status == 3, outcome.out
    assert set(verdicts(outcome).values()) - {"ok"} == {"inconclusive"}
    assert "an earlier cell had made" in " ".join(outcome.out.split())


@pytest.mark.slow
def test_a_reset_command_reaches_the_service_from_outside_of_the_workers_network(run_on, moto, project):
    project.write(
        "reset.py",
        "import sys\n"
        f"sys.path.insert(0, {str(__file__.rpartition('/')[0])!r})\n"
        "import urllib.request\n"
        f"urllib.request.urlopen(urllib.request.Request({moto!r} + '/moto-api/reset', b'', method='POST')).read()\n"
        f"import test_upstream; test_upstream.furnish({moto!r})\n",
    )
    reset = f"{sys.executable} reset.py"
    outcome = run_on(START, "states.toml", "--upstream", f"aws={moto}", "--reset", reset, reference="always")
    assert outcome.status == 0, outcome.out + outcome.err


@pytest.mark.slow
def test_what_was_recorded_gives_the_same_verdicts_offline_and_holds_no_secret(run_on, moto, project):
    record = ("--upstream", f"aws={moto}", "--record", "recording.jsonl")
    live = run_on(SEND, "sqs", "--protection", "aws=standard", *record, out="live")
    again = run_on(SEND, "sqs", "--protection", "aws=standard", *record, out="twice")
    assert again.status == 2
    assert "there is a recording already" in again.err
    offline = run_on(SEND, "sqs", "--protection", "aws=standard", "--replay", "aws=recording.jsonl", out="offline")
    assert offline.verdicts == live.verdicts
    assert "nothing is sent anywhere" in offline.out
    again = project.ackgap("replay", "offline", cell_of(offline, "applied"))
    assert again.status == 1
    assert "Reproduced" in again.out
    recorded = (project.path / "recording.jsonl").read_text()
    assert recorded.count("\n") > 5
    for text in (recorded, *(file.read_text() for file in project.path.glob("*/*.json*"))):
        assert "AKIA" not in text
        assert "c0ffee" not in text


@pytest.mark.slow
def test_a_request_that_was_not_recorded_is_answered_with_501_and_proves_nothing(run_on, moto):
    run_on(
        SEND, "sqs", "--protection", "aws=standard", "--upstream", f"aws={moto}", "--record", "recording.jsonl",
        "--point", "*:received",
    )  # fmt: skip
    replay = ("--protection", "aws=standard", "--replay", "aws=recording.jsonl")
    outcome = run_on(SEND, "sqs", *replay, "--point", "*:applied", out="offline")
    assert outcome.status == 3, outcome.out
    assert "never after these effects" in " ".join(outcome.out.split())
    other = run_on(SEND.replace('"pay"', '"pay twice"'), "sqs", *replay, out="other")
    assert other.status == 2
    assert 'body.MessageBody ("pay" was recorded, "pay twice" asked)' in other.err


@pytest.mark.slow
def test_a_service_that_does_not_answer_is_told_apart_from_a_worker_that_fails(run_on, moto):
    down = "http://127.0.0.1:9"
    failing = run_on(SEND, "sqs", "--upstream", f"aws={down}", "--protection", "aws=standard")
    assert failing.status == 2
    assert "no connection to 127.0.0.1:9" in failing.err
    tolerant = f"{SEND.replace('call(os', 'try: call(os').rstrip()}\nexcept OSError as error: print(error)\n"
    silent = run_on(tolerant, "sqs", "--upstream", f"aws={down}", "--protection", "aws=standard", out="silent")
    assert silent.status == 3
    assert set(silent.verdicts.values()) == {"inconclusive"}
    assert "got no answer of the upstream" in " ".join(silent.out.split())


@pytest.mark.skipif(not can_isolate(), reason="this machine lends no network namespace")
@pytest.mark.slow
def test_the_worker_itself_still_reaches_nothing_but_the_target(run_on, moto):
    direct = f"""
try:
    call({moto!r}, "AmazonSQS", "ListQueues", {{}})
except OSError as error:
    print("no way past the target:", error)
else:
    sys.exit("reached the service past the target")
"""
    arguments = ("--upstream", f"aws={moto}", "--protection", "aws=standard", "--point", "*:received")
    outcome = run_on(SEND + direct, "sqs", *arguments)
    assert outcome.status == 0, outcome.err


def test_a_host_that_is_not_this_machine_has_to_be_allowed(run_on):
    outcome = run_on(SEND, "sqs", "--upstream", "aws=https://sqs.invalid")
    assert outcome.status == 2
    assert "--allow-host sqs.invalid" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--upstream", "aws=ftp://127.0.0.1"], "no URL of http or https"),
        (["--upstream", "aws=http://me:secret@127.0.0.1"], "credentials do not belong"),
        (["--upstream", "other=http://127.0.0.1"], "there is no target 'other'"),
        (["--upstream", "aws=http://127.0.0.1", "--replay", "aws=x.jsonl"], "cannot both ask"),
        (["--record", "x.jsonl"], "nothing to record"),
        (["--replay", "aws=missing.jsonl"], "There is no recording"),
        (["--replay", "aws=agent.py"], "no recording can be read"),
    ],
)
def test_mistakes_are_refused_before_anything_runs(run_on, arguments, said):
    outcome = run_on(SEND, "sqs", *arguments)
    assert outcome.status == 2
    assert said in outcome.err


def cell_of(outcome, phase: str) -> str:
    return next(cell for cell in outcome.verdicts if f":{phase}@" in cell)
