"""What the official Python client of Stripe does by itself, seen from the service: keys it makes up, and retries."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from ackgap.model.boundary import Phase
from ackgap.model.event import AttemptAnswered, AttemptDropped, AttemptReceived, Decision, EffectApplied

stripe = pytest.importorskip("stripe")

CHARGE = {"amount": 2000, "currency": "eur", "source": "tok_visa", "metadata": {"order": "7"}}
MADE_UP = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def client_of(bench: Any, **more: Any) -> Any:
    """A client with nothing set but its key and the address of the service."""
    return stripe.StripeClient("sk_test_1", base_addresses={"api": bench.service.url}, **more)


def keys(bench: Any, operation: str) -> list[str | None]:
    received = bench.recorder.of(AttemptReceived)
    return [attempt.key for attempt in received if attempt.operation == f"tickets.{operation}"]


def test_it_makes_up_another_key_for_each_request_that_brings_none(run, bench):
    async def work():
        async with bench("stripe") as b:
            client = client_of(b)
            made = [await asyncio.to_thread(client.v1.charges.create, CHARGE) for _ in range(2)]
            return made, keys(b, "charges.create"), b.recorder.of(EffectApplied)

    made, sent, effects = run(work())
    assert made[0].id != made[1].id
    assert all(MADE_UP.fullmatch(key) for key in sent)
    assert sent[0] != sent[1]
    assert len(effects) == 2
    assert effects[0].identity == effects[1].identity


def test_a_key_of_ones_own_makes_a_repeat_the_same_charge(run, bench):
    async def work():
        async with bench("stripe") as b:
            client = client_of(b)
            options = {"idempotency_key": "case-7"}
            made = [await asyncio.to_thread(client.v1.charges.create, CHARGE, options) for _ in range(2)]
            b.clock.move(24 * 3600)
            made.append(await asyncio.to_thread(client.v1.charges.create, CHARGE, options))
            return made, keys(b, "charges.create")

    made, sent = run(work())
    assert sent == ["case-7"] * 3
    assert made[0].id == made[1].id != made[2].id
    assert made[0].amount == 2000
    assert made[0].metadata["order"] == "7"
    replayed = [charge.last_response.headers.get("Idempotent-Replayed") for charge in made]
    assert replayed == [None, "true", None]


def test_other_parameters_under_the_same_key_raise_its_own_error(run, bench):
    async def work():
        async with bench("stripe") as b:
            client = client_of(b)
            options = {"idempotency_key": "case-7"}
            await asyncio.to_thread(client.v1.charges.create, CHARGE, options)
            with pytest.raises(stripe.IdempotencyError) as refused:
                await asyncio.to_thread(client.v1.charges.create, {**CHARGE, "amount": 2001}, options)
            return refused.value, len(b.recorder.of(EffectApplied)), keys(b, "charges.create")

    refused, effects, sent = run(work())
    assert (refused.http_status, effects) == (400, 1)
    assert sent == ["case-7"] * 2  # It is not asked again.


def test_a_declined_card_and_a_missing_parameter_raise_its_own_errors(run, bench):
    async def work():
        async with bench("stripe") as b:
            client = client_of(b)
            with pytest.raises(stripe.CardError) as declined:
                await asyncio.to_thread(client.v1.charges.create, {**CHARGE, "source": "tok_chargeDeclined"})
            with pytest.raises(stripe.InvalidRequestError) as missing:
                await asyncio.to_thread(client.v1.charges.create, {"currency": "eur"})
            with pytest.raises(stripe.InvalidRequestError) as unknown:
                await asyncio.to_thread(client.v1.charges.retrieve, "ch_9")
            return declined.value, missing.value, unknown.value

    declined, missing, unknown = run(work())
    assert declined.code == "card_declined"
    assert (missing.http_status, missing.code) == (400, "parameter_missing")
    assert (unknown.http_status, unknown.code) == (404, "resource_missing")


def lose_an_answer(run, bench, parking_gate, create):
    """Have `create` called with the service, and drop the connection when its charge is there; return what is seen."""

    async def work():
        gate = parking_gate(Phase.APPLIED)
        async with bench("stripe", gate=gate) as b:
            asking = asyncio.create_task(asyncio.to_thread(create, b))
            await gate.parked()
            gate.phases.clear()
            gate.sever(1)
            answers = await asyncio.gather(asking, return_exceptions=True)
            return answers[0], keys(b, "charges.create"), b.recorder.of(EffectApplied), b.recorder.of(AttemptDropped)

    return run(work())


@pytest.mark.parametrize("key", [None, "case-7"])
@pytest.mark.parametrize("way", ["client told to", "module"])
def test_it_asks_again_after_a_lost_answer_with_the_same_key(run, bench, parking_gate, monkeypatch, key, way):
    options = {"idempotency_key": key} if key else {}

    def by_client(b):
        return client_of(b, max_network_retries=2).v1.charges.create(CHARGE, options)

    def by_module(b):
        monkeypatch.setattr(stripe, "api_key", "sk_test_1")
        monkeypatch.setattr(stripe, "api_base", b.service.url)
        return stripe.Charge.create(**CHARGE, **options)

    create = by_module if way == "module" else by_client
    charge, sent, effects, dropped = lose_an_answer(run, bench, parking_gate, create)
    assert [attempt.decision for attempt in dropped] == [Decision.APPLIED]
    assert len(sent) == 2
    assert sent[0] == sent[1]
    assert sent[0] == key or (key is None and MADE_UP.fullmatch(sent[0]))
    assert [effect.object_id for effect in effects] == [charge.id]
    assert charge.last_response.headers["Idempotent-Replayed"] == "true"


def test_a_client_that_was_not_told_to_never_asks_again_and_the_charge_is_there(run, bench, parking_gate):
    def create(b):
        return client_of(b).v1.charges.create(CHARGE)

    failed, sent, effects, _ = lose_an_answer(run, bench, parking_gate, create)
    assert isinstance(failed, stripe.APIConnectionError)
    assert (len(sent), len(effects)) == (1, 1)


def test_it_asks_again_while_its_key_is_in_use(run, bench, parking_gate):
    async def work():
        gate = parking_gate(Phase.APPLIED)
        async with bench("stripe", gate=gate) as b:
            options = {"idempotency_key": "case-7"}
            client = client_of(b, max_network_retries=2)
            first = asyncio.create_task(asyncio.to_thread(client_of(b).v1.charges.create, CHARGE, options))
            await gate.parked()
            gate.phases.clear()
            second = asyncio.create_task(asyncio.to_thread(client.v1.charges.create, CHARGE, options))
            answered = await b.recorder.seen(AttemptAnswered)
            gate.release()
            return answered, await first, await second, b.recorder.of(EffectApplied)

    answered, first, second, effects = run(work())
    assert (answered.decision, answered.status) == (Decision.CONFLICT, 409)
    assert first.id == second.id
    assert len(effects) == 1


def test_its_lists_see_a_new_object_at_once_and_its_searches_do_not(run, bench):
    async def work():
        async with bench("stripe") as b:
            client = client_of(b)
            made = []
            for order in ("7", "8", "7"):
                sent = {"email": f"{order}@x.test", "metadata": {"order": order}}
                made.append(await asyncio.to_thread(client.v1.customers.create, sent))
            question = {"query": "metadata['order']:'7'", "limit": 1}
            early = await asyncio.to_thread(client.v1.customers.search, question)
            b.clock.move(60)
            found = await asyncio.to_thread(lambda: list(client.v1.customers.search(question).auto_paging_iter()))
            listed = await asyncio.to_thread(lambda: list(client.v1.customers.list({"limit": 2}).auto_paging_iter()))
            one = await asyncio.to_thread(client.v1.customers.retrieve, made[1].id)
            return made, early, found, listed, one

    made, early, found, listed, one = run(work())
    assert (early.data, early.has_more) == ([], False)
    assert [customer.id for customer in found] == [made[2].id, made[0].id]
    assert [customer.id for customer in listed] == [customer.id for customer in reversed(made)]
    assert one.metadata["order"] == "8"


def test_payment_intents_and_refunds_have_the_form_that_it_reads(run, bench):
    async def work():
        async with bench("stripe") as b:
            client = client_of(b)
            intent = await asyncio.to_thread(
                client.v1.payment_intents.create,
                {"amount": 2000, "currency": "eur", "payment_method": "pm_card_visa", "confirm": True},
            )
            refund = await asyncio.to_thread(client.v1.refunds.create, {"payment_intent": intent.id, "amount": 500})
            listed = await asyncio.to_thread(client.v1.refunds.list, {"payment_intent": intent.id})
            again = await asyncio.to_thread(client.v1.payment_intents.retrieve, intent.id)
            return intent, refund, listed, again

    intent, refund, listed, again = run(work())
    assert (type(intent), intent.status, intent.amount_received) == (stripe.PaymentIntent, "succeeded", 2000)
    assert (type(refund), refund.amount, refund.status) == (stripe.Refund, 500, "succeeded")
    assert [each.id for each in listed.data] == [refund.id]
    assert again.id == intent.id
