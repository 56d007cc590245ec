"""The real boto3, unmodified, against SQS, DynamoDB, S3 and EC2: only its endpoint and its credentials are ours."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from boto3.dynamodb.conditions import Key
from botocore.config import Config
from botocore.exceptions import ClientError

from ackgap.model.boundary import Phase
from ackgap.model.event import AttemptAnswered, AttemptDropped, AttemptReceived, Decision, EffectApplied

FIFO = "orders.fifo"
TRANSACTION = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": "o-1"}, "total": {"N": "7"}}}}]


def options(bench: Any, **config: Any) -> dict[str, Any]:
    return {
        "endpoint_url": f"http://127.0.0.1:{bench.service.port}",
        "region_name": "eu-central-1",
        "aws_access_key_id": "x",
        "aws_secret_access_key": "y",
        "config": Config(proxies={}, **config),
    }


@pytest.fixture
def ask(run: Any, bench: Any) -> Callable[..., Any]:
    """Have a client talk to a profile; give back what it got and the ledger."""

    def asked(profile: str, use: Callable[[Any, Any], Any], protection: str | None = None) -> tuple[Any, Any]:
        async def work() -> tuple[Any, Any]:
            async with bench(profile, protection) as b:

                def call() -> Any:
                    # A client that is not closed leaves its sockets to the collector, which warns about them.
                    with contextlib.closing(boto3.client(profile, **options(b))) as client:
                        return use(client, b)

                return await asyncio.to_thread(call), b.recorder

        return run(work())

    return asked


@pytest.fixture
def lose_answers(run: Any, bench: Any, parking_gate: Any) -> Callable[..., Any]:
    """Have a client make one call whose first `count` answers are lost after the effect."""

    def lost(profile: str, use: Callable[[Any], Any], *, count: int = 1, **config: Any) -> tuple[Any, Any]:
        async def work() -> tuple[Any, Any]:
            gate = parking_gate(Phase.APPLIED)
            async with bench(profile, gate=gate) as b:

                def call() -> Any:
                    with contextlib.closing(boto3.client(profile, **options(b, **config))) as client:
                        try:
                            return use(client)
                        except Exception as error:
                            return error

                calling = asyncio.ensure_future(asyncio.to_thread(call))
                for number in range(count):
                    parked = asyncio.ensure_future(gate.parked())
                    await asyncio.wait({parked, calling}, return_when=asyncio.FIRST_COMPLETED)
                    if calling.done():
                        parked.cancel()
                        break
                    if number + 1 == count:
                        gate.phases.clear()
                    gate.sever(1)
                return await calling, b.recorder

        return run(work())

    return lost


def keys(recorder: Any) -> list[str | None]:
    return [attempt.key for attempt in recorder.of(AttemptReceived)]


def decisions(recorder: Any) -> list[Decision]:
    return [answered.decision for answered in recorder.of(AttemptAnswered)]


def code(error: Any) -> str:
    assert isinstance(error, ClientError), error
    return str(error.response["Error"]["Code"])


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(ClientError) as raised:
        call()
    return code(raised.value)


# --------------------------------------------------------------------------------------------------------------- SQS


@pytest.mark.slow
def test_a_message_sent_twice_under_one_id_is_received_once(ask):
    def use(sqs: Any, _: Any) -> Any:
        url = sqs.get_queue_url(QueueName=FIFO)["QueueUrl"]
        message = {"QueueUrl": url, "MessageGroupId": "g", "MessageDeduplicationId": "d"}
        sent = [sqs.send_message(MessageBody=body, **message)["MessageId"] for body in ("pay 7", "pay seven")]
        received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        sqs.delete_message(QueueUrl=url, ReceiptHandle=received[0]["ReceiptHandle"])
        again = sqs.send_message(MessageBody="pay 7", **message)["MessageId"]
        return sent, [message["Body"] for message in received], again, sqs.receive_message(QueueUrl=url)["Messages"]

    (sent, bodies, again, left), recorder = ask("sqs", use)
    assert len({*sent, again}) == 1
    assert (bodies, left) == (["pay 7"], [])
    assert keys(recorder).count("d") == 3
    assert [effect.operation for effect in recorder.of(EffectApplied)] == [
        "tickets.messages.send",
        "tickets.messages.delete",
    ]


def test_boto3_makes_up_no_deduplication_id_and_a_fifo_queue_refuses_to_guess_one(ask):
    def use(sqs: Any, _: Any) -> Any:
        return refusal(lambda: sqs.send_message(QueueUrl=FIFO, MessageBody="x", MessageGroupId="g"))

    refused, recorder = ask("sqs", use)
    assert refused == "InvalidParameterValue"
    assert (keys(recorder), decisions(recorder)) == ([None], [Decision.REJECTED])


def test_a_queue_is_the_same_one_wherever_the_service_listens(ask):
    def use(sqs: Any, b: Any) -> str:
        url = sqs.get_queue_url(QueueName=FIFO)["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d")
        return str(b.service.port)

    port, recorder = ask("sqs", use)
    (effect,) = recorder.of(EffectApplied)
    assert port in effect.content["QueueUrl"]
    assert effect.identity["body.QueueUrl"] == f"http://tickets/000000000000/{FIFO}"


@pytest.mark.slow
def test_boto3_itself_sends_again_to_a_standard_queue_when_an_answer_is_lost_so_one_call_is_two_messages(
    run, bench, parking_gate
):
    async def work() -> Any:
        gate = parking_gate(Phase.APPLIED)
        async with bench("sqs", "standard", gate=gate) as b:

            def call() -> Any:
                with contextlib.closing(boto3.client("sqs", **options(b))) as sqs:
                    return sqs.send_message(QueueUrl="orders", MessageBody="pay 7")

            calling = asyncio.ensure_future(asyncio.to_thread(call))
            await gate.parked()
            gate.phases.clear()
            gate.sever(1)
            return await calling, b.recorder

    sent, recorder = run(work())
    assert sent["ResponseMetadata"]["RetryAttempts"] == 1
    assert len(recorder.of(EffectApplied)) == 2


# ---------------------------------------------------------------------------------------------------------- DynamoDB


def test_boto3_makes_up_a_token_for_each_call_so_a_second_call_is_a_second_transaction(ask):
    def use(dynamodb: Any, _: Any) -> None:
        for _ in range(2):
            dynamodb.transact_write_items(TransactItems=TRANSACTION)

    _, recorder = ask("dynamodb", use)
    first, second = keys(recorder)
    assert first
    assert second
    assert first != second
    assert decisions(recorder) == [Decision.APPLIED] * 2


@pytest.mark.slow
def test_boto3_sends_the_token_that_it_made_up_again_when_an_answer_is_lost(lose_answers):
    _, recorder = lose_answers("dynamodb", lambda client: client.transact_write_items(TransactItems=TRANSACTION))
    first, second = keys(recorder)
    assert first == second
    assert len(recorder.of(EffectApplied)) == 1
    assert decisions(recorder) == [Decision.REPLAYED]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "mode", "attempts"),
    [("dynamodb", None, 4), ("dynamodb", "standard", 4), ("ec2", None, 3), ("ec2", "legacy", 5)],
)
def test_boto3_gives_up_after_so_many_lost_answers(lose_answers, profile, mode, attempts):
    calls = {
        "dynamodb": lambda client: client.transact_write_items(TransactItems=TRANSACTION),
        "ec2": lambda client: client.run_instances(ImageId="ami-1", MinCount=1, MaxCount=1),
    }
    config = {"retries": {"mode": mode}} if mode else {}
    error, recorder = lose_answers(profile, calls[profile], count=20, **config)
    assert isinstance(error, Exception)
    assert len(recorder.of(AttemptDropped)) == attempts
    assert len(set(keys(recorder))) == 1
    assert len(recorder.of(EffectApplied)) == 1


def test_a_token_of_ones_own_holds_for_ten_minutes_and_refuses_another_transaction(ask):
    other = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": "o-2"}}}}]

    def use(dynamodb: Any, b: Any) -> str:
        token = {"ClientRequestToken": "order-1"}
        dynamodb.transact_write_items(TransactItems=TRANSACTION, **token)
        refused = refusal(lambda: dynamodb.transact_write_items(TransactItems=other, **token))
        dynamodb.transact_write_items(TransactItems=TRANSACTION, **token)
        b.clock.move(600)
        dynamodb.transact_write_items(TransactItems=TRANSACTION, **token)
        return refused

    refused, recorder = ask("dynamodb", use)
    assert refused == "IdempotentParameterMismatchException"
    assert decisions(recorder) == [Decision.APPLIED, Decision.REJECTED, Decision.REPLAYED, Decision.APPLIED]


def test_a_put_on_condition_is_done_once_and_read_consistently_at_once(ask):
    def use(dynamodb: Any, _: Any) -> Any:
        put = {"TableName": "orders", "ConditionExpression": "attribute_not_exists(pk)"}
        dynamodb.put_item(Item={"pk": {"S": "o-1"}, "total": {"N": "7"}}, **put)
        refused = refusal(lambda: dynamodb.put_item(Item={"pk": {"S": "o-1"}, "total": {"N": "8"}}, **put))
        read = {"TableName": "orders", "Key": {"pk": {"S": "o-1"}}}
        return refused, "Item" in dynamodb.get_item(**read), dynamodb.get_item(ConsistentRead=True, **read)["Item"]

    (refused, seen, item), recorder = ask("dynamodb", use)
    assert (refused, seen) == ("ConditionalCheckFailedException", False)
    assert item == {"pk": {"S": "o-1"}, "total": {"N": "7"}}
    assert len(recorder.of(EffectApplied)) == 1


def test_the_table_of_boto3s_resources_finds_an_item_by_its_partition_key(run, bench):
    async def work() -> Any:
        async with bench("dynamodb") as b:

            def call() -> Any:
                resource = boto3.resource("dynamodb", **options(b))
                with contextlib.closing(resource.meta.client):
                    table = resource.Table("orders")
                    for name in ("o-1", "o-2"):
                        table.put_item(Item={"pk": name, "sk": "total", "n": 7})
                    asked = {"KeyConditionExpression": Key("pk").eq("o-2"), "ConsistentRead": True}
                    return table.query(**asked)["Items"], table.scan(ConsistentRead=True)["Count"]

            return await asyncio.to_thread(call)

    assert run(work()) == ([{"pk": "o-2", "sk": "total", "n": 7}], 2)


# ---------------------------------------------------------------------------------------------------------------- S3


def test_an_object_that_must_not_exist_is_written_once_and_comes_back_byte_for_byte(ask):
    body = bytes(range(256))

    def use(s3: Any, _: Any) -> Any:
        place = {"Bucket": "reports", "Key": "2026/run 1.bin"}
        s3.put_object(Body=body, IfNoneMatch="*", **place)
        refused = refusal(lambda: s3.put_object(Body=b"reworded", IfNoneMatch="*", **place))
        found = s3.list_objects_v2(Bucket="reports", Prefix="2026/")["Contents"]
        nothing = s3.list_objects_v2(Bucket="reports", Prefix="run")["KeyCount"]
        missing = refusal(lambda: s3.get_object(Bucket="reports", Key="other"))
        read = s3.get_object(**place)
        with contextlib.closing(read["Body"]):
            return refused, read["Body"].read(), s3.head_object(**place)["ETag"], found, nothing, missing

    (refused, read, tag, found, nothing, missing), recorder = ask("s3", use)
    assert (refused, missing, nothing) == ("PreconditionFailed", "NoSuchKey", 0)
    assert read == body
    assert tag == '"e2c865db4162bed963bfaa9ef6ac18f0"'
    assert [(item["Key"], item["Size"], item["ETag"]) for item in found] == [("2026/run 1.bin", 256, tag)]
    (effect,) = recorder.of(EffectApplied)
    assert effect.identity == {"path.bucket": "reports", "path.key": "2026/run 1.bin"}


@pytest.mark.slow
def test_boto3_reports_a_conflict_for_an_object_that_it_wrote_itself_when_an_answer_is_lost(lose_answers):
    error, recorder = lose_answers(
        "s3", lambda s3: s3.put_object(Bucket="reports", Key="a", Body=b"x", IfNoneMatch="*")
    )
    assert code(error) == "PreconditionFailed"
    assert len(recorder.of(EffectApplied)) == 1
    assert decisions(recorder) == [Decision.EXISTING]


def test_an_object_is_replaced_only_as_it_was_known(ask):
    def use(s3: Any, _: Any) -> Any:
        place = {"Bucket": "reports", "Key": "a"}
        tag = s3.put_object(Body=b"one", **place)["ETag"]
        s3.put_object(Body=b"two", IfMatch=tag, **place)
        return refusal(lambda: s3.put_object(Body=b"three", IfMatch=tag, **place))

    refused, recorder = ask("s3", use)
    assert refused == "PreconditionFailed"
    assert len(recorder.of(EffectApplied)) == 2


# --------------------------------------------------------------------------------------------------------------- EC2


def test_an_instance_is_started_once_for_a_token_of_ones_own_and_found_by_it(ask):
    launch = {"ImageId": "ami-1", "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}

    def use(ec2: Any, b: Any) -> Any:
        began_s = time.monotonic()
        one, two = (ec2.run_instances(ClientToken="job-7", **launch)["Instances"][0] for _ in range(2))
        refused = refusal(lambda: ec2.run_instances(ClientToken="job-7", **{**launch, "ImageId": "ami-2"}))
        elsewhere = ec2.run_instances(ClientToken="job-7", Placement={"AvailabilityZone": "eu-central-1b"}, **launch)
        asked = {"Filters": [{"Name": "client-token", "Values": ["job-7"]}]}
        early = ec2.describe_instances(**asked)["Reservations"]
        if time.monotonic() - began_s > 1.5:
            early = []  # on a busy machine the lag may have passed by itself
        b.clock.move(5)
        late = ec2.describe_instances(**asked)["Reservations"][0]["Instances"][0]
        ended = ec2.terminate_instances(InstanceIds=[one["InstanceId"]])["TerminatingInstances"][0]
        return one, two, refused, elsewhere["Instances"][0], early, late, ended

    (one, two, refused, elsewhere, early, late, ended), recorder = ask("ec2", use)
    assert refused == "IdempotentParameterMismatch"
    assert one["State"] == {"Code": 16, "Name": "running"}
    assert len({each["InstanceId"] for each in (one, two, elsewhere, late, ended)}) == 1
    assert (early, late["ClientToken"], ended["CurrentState"]["Name"]) == ([], "job-7", "terminated")
    assert [effect.operation for effect in recorder.of(EffectApplied)] == [
        "tickets.instances.run",
        "tickets.instances.terminate",
    ]


@pytest.mark.slow
def test_boto3_makes_up_a_client_token_for_each_call_and_keeps_it_while_it_tries_again(ask, lose_answers):
    launch = {"ImageId": "ami-1", "MinCount": 1, "MaxCount": 1}
    _, twice = ask("ec2", lambda ec2, _: [ec2.run_instances(**launch) for _ in range(2)])
    assert len(set(keys(twice))) == 2
    assert len(twice.of(EffectApplied)) == 2
    _, lost = lose_answers("ec2", lambda ec2: ec2.run_instances(**launch))
    assert len(keys(lost)) == 2
    assert len(set(keys(lost))) == 1
    assert len(lost.of(EffectApplied)) == 1
