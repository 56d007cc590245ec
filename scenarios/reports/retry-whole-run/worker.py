"""A maintenance agent: a model says what to do, a tool does it; what fails is tried again.

Settings, all from the environment:
    MODEL_URL, TICKETS_URL   base URLs of the services
    RETRY   run | request: what is tried again after an error of the model's
"""

import json
import os
from collections.abc import Callable

import httpx

TASK = "The certificate of host aurelia-7 is about to expire. Have it renewed."
FILE_TICKET = {
    "type": "function",
    "function": {
        "name": "file_ticket",
        "description": "Ask the operations team for something.",
        "parameters": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
    },
}

http = httpx.Client(timeout=60)


def tried_again(step: Callable) -> Callable:
    """Do a step up to three times, as long as a service answers with an error."""

    def repeat(*arguments: object) -> object:
        for _ in range(2):
            try:
                return step(*arguments)
            except httpx.HTTPStatusError as error:
                print(f"{step.__name__}: {error.response.status_code}, once more")
        return step(*arguments)

    return repeat


def file_ticket(title: str) -> str:
    body = {"partner_id": "aurelia-7", "kind": "renew-certificate", "title": title}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body)
    return f"filed as {answer.raise_for_status().json()['id']}"


def ask(messages: list[dict]) -> dict:
    question = {"model": "gpt-4o-mini", "messages": messages, "tools": [FILE_TICKET]}
    answer = http.post(os.environ["MODEL_URL"] + "/v1/chat/completions", json=question)
    return answer.raise_for_status().json()["choices"][0]["message"]


def run_agent(task: str) -> str:
    messages = [{"role": "user", "content": task}]
    while True:
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            result = file_ticket(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


if os.environ.get("RETRY") == "run":
    run_agent = tried_again(run_agent)
else:
    ask = tried_again(ask)

if __name__ == "__main__":
    print(run_agent(TASK))
