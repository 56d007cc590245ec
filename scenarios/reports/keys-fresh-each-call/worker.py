"""A shop's agent that takes a payment with a tool of the payment service; whoever makes the key is a setting.

Settings, all from the environment:
    MODEL_URL, SQUARE_URL   base URLs of the services
    KEY   model | order: whether the model writes the idempotency key, or the program makes it from the order
"""

import json
import os
from pathlib import Path

import httpx

ORDER = {"order_id": "order-4471", "customer_id": "aurelia", "amount": 12500, "currency": "EUR"}
DONE = Path("payment.json")
MODELS_KEY = os.environ.get("KEY") == "model"

KEY = {"type": "string", "description": "A unique string; it must be unique for every request to create a payment."}
CREATE_PAYMENT = {
    "type": "function",
    "function": {
        "name": "create_payment",
        "description": "Charge a customer for an order.",
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, **({"idempotency_key": KEY} if MODELS_KEY else {})},
            "required": ["order_id", *(["idempotency_key"] if MODELS_KEY else [])],
        },
    },
}

http = httpx.Client(timeout=60)


def create_payment(order_id: str, idempotency_key: str | None = None) -> str:
    payment = {
        "idempotency_key": idempotency_key if MODELS_KEY else f"{order_id}:payment",
        "source_id": "cnon:card-on-file",
        "amount_money": {"amount": ORDER["amount"], "currency": ORDER["currency"]},
        "customer_id": ORDER["customer_id"],
        "reference_id": order_id,
    }
    try:
        answer = http.post(os.environ["SQUARE_URL"] + "/v2/payments", json=payment)
    except httpx.TransportError:
        return "error: the connection was lost"
    if answer.is_error:
        return f"error: {answer.json()['errors'][0]['detail']}"
    return f"paid as {answer.json()['payment']['id']}"


def ask(messages: list[dict]) -> dict:
    question = {"model": "gpt-4o-mini", "messages": messages, "tools": [CREATE_PAYMENT]}
    answer = http.post(os.environ["MODEL_URL"] + "/v1/chat/completions", json=question)
    return answer.raise_for_status().json()["choices"][0]["message"]


def main() -> None:
    if DONE.exists():
        return
    messages = [{"role": "user", "content": f"Take the payment for {ORDER['order_id']}."}]
    while True:
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            break
        for call in message["tool_calls"]:
            result = create_payment(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    draft = DONE.with_suffix(".new")
    draft.write_text(json.dumps({"order": ORDER["order_id"], "said": message["content"]}))
    draft.replace(DONE)


if __name__ == "__main__":
    main()
