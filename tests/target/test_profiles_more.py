"""A walk through the protection of each profile: repeat, other payload, at the same time, after the window, lookups.

What is expected was written by hand from what is known of the services, not taken from the profiles.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ackgap.model.event import Decision
from ackgap.target.profiles.facts import facts
from ackgap.target.profiles.profile import load_profile

FORM = "application/x-www-form-urlencoded"
AMZ = "application/x-amz-json-1.0"
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
AGES_S = 400 * DAY_S
AGAIN = (Decision.APPLIED, 200)
"""Done another time, and answered as the first one was."""


@dataclass(frozen=True)
class Sent:
    body: Any = None
    path: str = "/"
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "application/json"

    def to(self, service: Any, *, unfinished: bool = False) -> Any:
        ask = service.begin if unfinished else service.ask
        return ask(self.method, self.path, self.body, headers=self.headers, content_type=self.kind)


@dataclass(frozen=True, kw_only=True)
class Walk:
    """What one protection does.

    `window_s` is the age at which a repeat is done again, None if it never is; `lag_s` the age from which on `lookup`
    shows what `first` made, by a text that is in it.
    """

    profile: str
    protection: str
    first: Sent
    other: Sent
    repeat: tuple[Decision, int]
    changed: tuple[Decision, int]
    meanwhile: tuple[Decision, int]
    window_s: float | None
    lookup: Sent
    shown: str
    lag_s: float = 0


def keyed(key: str = "k") -> dict[str, str]:
    return {"Idempotency-Key": key}


def graphql(text: str, path: str, headers: dict[str, str] | None = None, **variables: Any) -> Sent:
    return Sent({"query": text, "variables": variables}, path, headers=headers or {})


def amazon(action: str, body: dict[str, Any], prefix: str = "DynamoDB_20120810") -> Sent:
    return Sent(body, headers={"X-Amz-Target": f"{prefix}.{action}"}, kind=AMZ)


def sqs(action: str, **body: Any) -> Sent:
    return amazon(action, {"QueueUrl": "orders", **body}, "AmazonSQS")


def slack(**body: Any) -> Sent:
    return Sent({"channel": "C1", **body}, "/api/chat.postMessage")


def mail(to: str, subject: str) -> Sent:
    addressed = {"personalizations": [{"to": [{"email": to}]}], "from": {"email": "a@b.c"}, "subject": subject}
    return Sent(addressed, "/v3/mail/send")


def resend(subject: str, path: str = "/emails", key: str = "k") -> Sent:
    return Sent({"from": "a@b.c", "to": "d@e.f", "subject": subject}, path, headers=keyed(key))


SHOP = "/admin/api/2026-04/graphql.json"
REFUND = 'mutation($i: RefundInput!) { done: refundCreate(input: $i) @idempotent(key: "k") { refund { id } } }'
ORDERS = "query($q: String) { orders(first: 5, query: $q) { edges { node { id } } } }"
ORDER = "mutation($o: OrderCreateOrderInput!) { orderCreate(order: $o) { order { id } } }"


def refund(note: str) -> Sent:
    return graphql(REFUND, SHOP, i={"orderId": "gid://shopify/Order/1", "note": note})


def item(name: str) -> Sent:
    text = f'mutation {{ create_item(board_id: 7, item_name: "{name}") {{ id }} }}'
    return graphql(text, "/v2", keyed())


def event(summary: str, **more: Any) -> Sent:
    times = {"start": {"dateTime": "2027-01-01T09:00:00Z"}, "end": {"dateTime": "2027-01-01T10:00:00Z"}}
    return Sent({"id": "abcde", "summary": summary, **times, **more}, "/calendar/v3/calendars/primary/events")


def order(total: int, key: str = '"k"') -> Sent:
    return Sent({"reference": "o-1", "total": total}, "/orders", headers=keyed(key))


def transaction(total: str) -> Sent:
    put = {"TableName": "orders", "Item": {"pk": {"S": "o-1"}, "total": {"N": total}}}
    return amazon("TransactWriteItems", {"ClientRequestToken": "k", "TransactItems": [{"Put": put}]})


def put_item(total: str, **more: Any) -> Sent:
    return amazon("PutItem", {"TableName": "orders", "Item": {"pk": {"S": "o-1"}, "total": {"N": total}}, **more})


def put_object(body: bytes, **headers: str) -> Sent:
    return Sent(body, "/reports/2026/a.txt", "PUT", headers, "")


def launch(image: str, token: str = "k") -> Sent:
    sent = f"Action=RunInstances&ImageId={image}&MinCount=1&MaxCount=1&ClientToken={token}"
    return Sent(sent.encode(), kind=FORM)


ABSENT = {"ConditionExpression": "attribute_not_exists(pk)"}
GET_ITEM = amazon("GetItem", {"TableName": "orders", "Key": {"pk": {"S": "o-1"}}})
MESSAGE = {"MessageGroupId": "g", "MessageDeduplicationId": "k"}
RECEIVE = sqs("ReceiveMessage", MaxNumberOfMessages=10)
HISTORY = Sent(path="/api/conversations.history?channel=C1", method="GET")
CALENDAR = Sent(path="/calendar/v3/calendars/primary/events?q=review", method="GET")
ITEMS = graphql("{ boards(ids: [7]) { items_page { items { id } } } }", "/v2")
DESCRIBE = Sent(b"Action=DescribeInstances&Filter.1.Name=client-token&Filter.1.Value.1=k", kind=FORM)
LIST_OBJECTS = Sent(path="/reports?list-type=2&prefix=2026/", method="GET")

WALKS = [
    Walk(
        profile="slack",
        protection="none",
        first=slack(text="done", client_msg_id="k"),
        other=slack(text="finished", client_msg_id="k"),
        repeat=AGAIN,
        changed=AGAIN,
        meanwhile=AGAIN,
        window_s=0,
        lookup=HISTORY,
        shown='"text": "done"',
    ),
    Walk(
        profile="slack",
        protection="client-msg-id",
        first=slack(text="done", client_msg_id="k"),
        other=slack(text="finished", client_msg_id="k"),
        repeat=(Decision.REPLAYED, 200),
        changed=(Decision.REPLAYED, 200),
        meanwhile=AGAIN,
        window_s=30 * MINUTE_S,
        lookup=HISTORY,
        shown='"text": "done"',
    ),
    Walk(
        profile="mail",
        protection="none",
        first=mail("d@e.f", "done"),
        other=mail("d@e.f", "finished"),
        repeat=(Decision.APPLIED, 202),
        changed=(Decision.APPLIED, 202),
        meanwhile=(Decision.APPLIED, 202),
        window_s=0,
        lookup=Sent(path='/v3/messages?query="d@e.f"', method="GET"),
        shown='"subject": "done"',
        lag_s=60,
    ),
    Walk(
        profile="resend",
        protection="idempotency-key",
        first=resend("done"),
        other=resend("finished"),
        repeat=(Decision.REPLAYED, 200),
        changed=(Decision.REJECTED, 409),
        meanwhile=(Decision.CONFLICT, 409),
        window_s=DAY_S,
        lookup=Sent(path="/emails", method="GET"),
        shown='"subject": "done"',
    ),
    Walk(
        profile="shopify",
        protection="idempotent-directive",
        first=refund("broken"),
        other=refund("damaged"),
        repeat=(Decision.REPLAYED, 200),
        changed=(Decision.REJECTED, 200),
        meanwhile=(Decision.CONFLICT, 200),
        window_s=DAY_S,
        lookup=graphql(ORDERS, SHOP, q="email:a@b.c"),
        shown="",
    ),
    Walk(
        profile="shopify",
        protection="none",
        first=graphql(ORDER, SHOP, o={"email": "a@b.c"}),
        other=graphql(ORDER, SHOP, o={"email": "a@b.c", "note": "n"}),
        repeat=AGAIN,
        changed=AGAIN,
        meanwhile=AGAIN,
        window_s=0,
        lookup=graphql(ORDERS, SHOP, q="email:a@b.c"),
        shown='"email": "a@b.c"',
        lag_s=10,
    ),
    Walk(
        profile="monday",
        protection="idempotency-key",
        first=item("Review"),
        other=item("Check"),
        repeat=(Decision.REPLAYED, 200),
        changed=(Decision.REPLAYED, 200),
        meanwhile=(Decision.CONFLICT, 409),
        window_s=30 * MINUTE_S,
        lookup=ITEMS,
        shown='"name": "Review"',
    ),
    Walk(
        profile="google-calendar",
        protection="event-id-noticed",
        first=event("Annual review"),
        other=event("Review of the year"),
        repeat=(Decision.EXISTING, 409),
        changed=(Decision.EXISTING, 409),
        meanwhile=(Decision.EXISTING, 409),
        window_s=None,
        lookup=CALENDAR,
        shown='"id": "abcde"',
    ),
    Walk(
        profile="google-calendar",
        protection="event-id",
        first=event("Annual review"),
        other=event("Review of the year"),
        repeat=AGAIN,
        changed=AGAIN,
        meanwhile=AGAIN,
        window_s=0,
        lookup=CALENDAR,
        shown='"id": "abcde"',
    ),
    Walk(
        profile="ietf",
        protection="idempotency-key",
        first=order(7),
        other=order(8),
        repeat=(Decision.REPLAYED, 201),
        changed=(Decision.REJECTED, 422),
        meanwhile=(Decision.CONFLICT, 409),
        window_s=30 * MINUTE_S,
        lookup=Sent(path="/orders?reference=o-1", method="GET"),
        shown='"total": 7',
    ),
    Walk(
        profile="ietf",
        protection="no-fingerprint",
        first=order(7),
        other=order(8),
        repeat=(Decision.REPLAYED, 201),
        changed=(Decision.REPLAYED, 201),
        meanwhile=(Decision.CONFLICT, 409),
        window_s=30 * MINUTE_S,
        lookup=Sent(path="/orders?reference=o-1", method="GET"),
        shown='"total": 7',
    ),
    Walk(
        profile="sqs",
        protection="fifo",
        first=sqs("SendMessage", MessageBody="pay 7", **MESSAGE),
        other=sqs("SendMessage", MessageBody="pay seven", **MESSAGE),
        repeat=(Decision.REPLAYED, 200),
        changed=(Decision.REPLAYED, 200),
        meanwhile=AGAIN,
        window_s=5 * MINUTE_S,
        lookup=RECEIVE,
        shown='"Body": "pay 7"',
    ),
    Walk(
        profile="sqs",
        protection="fifo-content",
        first=sqs("SendMessage", MessageBody="pay 7", MessageGroupId="g"),
        other=sqs("SendMessage", MessageBody="pay seven", MessageGroupId="g"),
        repeat=(Decision.REPLAYED, 200),
        changed=AGAIN,
        meanwhile=AGAIN,
        window_s=5 * MINUTE_S,
        lookup=RECEIVE,
        shown='"Body": "pay 7"',
    ),
    Walk(
        profile="sqs",
        protection="standard",
        first=sqs("SendMessage", MessageBody="pay 7"),
        other=sqs("SendMessage", MessageBody="pay seven"),
        repeat=AGAIN,
        changed=AGAIN,
        meanwhile=AGAIN,
        window_s=0,
        lookup=RECEIVE,
        shown='"Body": "pay 7"',
    ),
    Walk(
        profile="dynamodb",
        protection="tokens-and-conditions",
        first=transaction("7"),
        other=transaction("8"),
        repeat=(Decision.REPLAYED, 200),
        changed=(Decision.REJECTED, 400),
        meanwhile=(Decision.CONFLICT, 400),
        window_s=10 * MINUTE_S,
        lookup=GET_ITEM,
        shown='"total": {"N": "7"}',
        lag_s=1,
    ),
    Walk(
        profile="dynamodb",
        protection="tokens-and-conditions",
        first=put_item("7", **ABSENT),
        other=put_item("8", **ABSENT),
        repeat=(Decision.EXISTING, 400),
        changed=(Decision.EXISTING, 400),
        meanwhile=(Decision.EXISTING, 400),
        window_s=None,
        lookup=GET_ITEM,
        shown='"total": {"N": "7"}',
        lag_s=1,
    ),
    Walk(
        profile="s3",
        protection="conditional",
        first=put_object(b"one", **{"If-None-Match": "*"}),
        other=put_object(b"two", **{"If-None-Match": "*"}),
        repeat=(Decision.EXISTING, 412),
        changed=(Decision.EXISTING, 412),
        meanwhile=(Decision.CONFLICT, 409),
        window_s=None,
        lookup=LIST_OBJECTS,
        shown="<Key>2026/a.txt</Key>",
    ),
    Walk(
        profile="ec2",
        protection="client-token",
        first=launch("ami-1"),
        other=launch("ami-2"),
        repeat=(Decision.REPLAYED, 200),
        changed=(Decision.REJECTED, 400),
        meanwhile=AGAIN,
        window_s=None,
        lookup=DESCRIBE,
        shown="<imageId>ami-1</imageId>",
        lag_s=5,
    ),
]


def named(walk: Walk) -> str:
    return f"{walk.profile}-{walk.protection}"


def outcome(handled: Any) -> tuple[Decision, int]:
    return handled.decision, handled.answer.status


def shown_by(service: Any, lookup: Sent) -> str:
    handled = lookup.to(service)
    assert handled.decision is Decision.READ
    return str(handled.answer.body.decode())


@pytest.fixture(params=WALKS, ids=named)
def walk(request):
    return request.param


def test_a_repeat_and_another_payload_are_treated_as_the_service_treats_them(shop, walk):
    service = shop(walk.profile, walk.protection)
    assert walk.first.to(service).decision is Decision.APPLIED
    assert outcome(walk.first.to(service)) == walk.repeat
    service = shop(walk.profile, walk.protection)
    walk.first.to(service)
    assert outcome(walk.other.to(service)) == walk.changed


def test_a_repeat_while_the_first_request_runs_is_treated_as_the_service_treats_it(shop, walk):
    service = shop(walk.profile, walk.protection)
    walk.first.to(service, unfinished=True)
    assert outcome(walk.first.to(service)) == walk.meanwhile


def test_a_repeat_is_done_again_from_the_end_of_the_window_on_and_not_before(shop, walk):
    if walk.window_s == 0:
        pytest.skip("no window: every repeat is done again")
    service = shop(walk.profile, walk.protection)
    first = walk.first.to(service)
    service.clock.move((walk.window_s or AGES_S) - 1)
    assert outcome(walk.first.to(service)) == walk.repeat
    if walk.window_s is not None:
        service.clock.move(1)
        assert outcome(walk.first.to(service)) == outcome(first)


def test_a_lookup_shows_what_was_done_after_its_lag_and_not_before(shop, walk):
    service = shop(walk.profile, walk.protection)
    assert not walk.shown or walk.shown not in shown_by(service, walk.lookup)
    walk.first.to(service)
    if walk.lag_s:
        service.clock.move(walk.lag_s - 0.5)
        assert walk.shown not in shown_by(service, walk.lookup)
        service.clock.move(0.5)
    assert walk.shown in shown_by(service, walk.lookup)


# ----------------------------------------------------------------------------------- lookups, failures, lengths of keys


ITEM_BY_COLUMN = (
    "{ items_page_by_column_values(board_id: %d, columns: "
    '[{column_id: "name", column_values: ["Review"]}]) { items { id } } }'
)


@pytest.mark.parametrize(
    ("profile", "made", "lookup", "elsewhere", "shown"),
    [
        ("slack", slack(text="done"), HISTORY, Sent(path=HISTORY.path.replace("C1", "C2"), method="GET"), "done"),
        (
            "slack",
            slack(text="done"),
            Sent({"channel": "C1"}, "/api/conversations.history"),
            Sent({"channel": "C2"}, "/api/conversations.history"),
            "done",
        ),
        (
            "slack",
            slack(text="done", thread_ts="1.1"),
            Sent({"channel": "C1", "ts": "1.1"}, "/api/conversations.replies"),
            Sent({"channel": "C1", "ts": "2.2"}, "/api/conversations.replies"),
            "done",
        ),
        (
            "mail",
            mail("d@e.f", "done"),
            Sent(path="/v3/messages", method="GET"),
            Sent(path='/v3/messages?query="g@h.i"', method="GET"),
            "done",
        ),
        (
            "ec2",
            launch("ami-1"),
            DESCRIBE,
            Sent(DESCRIBE.body.replace(b"Value.1=k", b"Value.1=l"), kind=FORM),
            "ami-1",
        ),
        ("monday", item("Review"), ITEMS, graphql("{ boards(ids: [8]) { id } }", "/v2"), "Review"),
        (
            "monday",
            item("Review"),
            graphql("{ items(ids: [100000001]) { id } }", "/v2"),
            graphql("{ items(ids: [100000002]) { id } }", "/v2"),
            "Review",
        ),
        (
            "monday",
            item("Review"),
            graphql(ITEM_BY_COLUMN % 7, "/v2"),
            graphql(ITEM_BY_COLUMN % 8, "/v2"),
            "Review",
        ),
        (
            "shopify",
            graphql(ORDER, SHOP, o={"email": "a@b.c"}),
            graphql(ORDERS, SHOP, q="email:a@b.c"),
            graphql(ORDERS, SHOP, q="email:d@e.f"),
            "a@b.c",
        ),
        (
            "google-calendar",
            event("Annual review"),
            CALENDAR,
            Sent(path="/calendar/v3/calendars/primary/events?q=party", method="GET"),
            "abcde",
        ),
        (
            "google-calendar",
            event("Annual review"),
            Sent(path="/calendar/v3/calendars/primary/events?iCalUID=abcde@google.com", method="GET"),
            Sent(path="/calendar/v3/calendars/team/events", method="GET"),
            "abcde",
        ),
        (
            "ietf",
            order(7),
            Sent(path="/orders?reference=o-1", method="GET"),
            Sent(path="/orders?reference=o-2", method="GET"),
            "o-1",
        ),
        (
            "ec2",
            launch("ami-1"),
            Sent(b"Action=DescribeInstances&InstanceId.1=i-00000000000000001", kind=FORM),
            Sent(b"Action=DescribeInstances&InstanceId.1=i-00000000000000002", kind=FORM),
            "ami-1",
        ),
        ("s3", put_object(b"one"), LIST_OBJECTS, Sent(path="/reports?prefix=a", method="GET"), "a.txt"),
    ],
)
def test_a_lookup_shows_what_was_asked_for_and_nothing_else(shop, profile, made, lookup, elsewhere, shown):
    service = shop(profile)
    assert made.to(service).decision is Decision.APPLIED
    service.clock.move(HOUR_S)
    assert shown in shown_by(service, lookup)
    assert shown not in shown_by(service, elsewhere)


@pytest.mark.parametrize(
    ("profile", "bad", "good"),
    [
        ("resend", Sent({"from": "a@b.c"}, "/emails", headers=keyed()), resend("done")),
        ("monday", graphql("mutation { create_item(board_id: 7) { id } }", "/v2", keyed()), item("Review")),
        ("shopify", graphql(REFUND, SHOP, i={}), refund("broken")),
        (
            "sqs",
            sqs("SendMessage", **MESSAGE),
            sqs("SendMessage", MessageBody="x", **MESSAGE),
        ),
        (
            "dynamodb",
            amazon("TransactWriteItems", {"ClientRequestToken": "k", "TransactItems": []}),
            transaction("7"),
        ),
        ("ec2", Sent(b"Action=RunInstances&MinCount=1&MaxCount=1&ClientToken=k", kind=FORM), launch("ami-1")),
    ],
)
def test_a_failure_releases_its_key(shop, profile, bad, good):
    service = shop(profile)
    assert bad.to(service).decision is Decision.REJECTED
    assert good.to(service).decision is Decision.APPLIED


def test_a_failure_of_a_server_after_the_draft_is_its_result_too(shop, profile_file):
    text = Path(load_profile("ietf").file).read_text(encoding="utf-8")
    strict = text.replace(
        'identity = ["path.collection"', 'required = ["body.reference"]\nidentity = ["path.collection"'
    )
    service = shop(profile_file(strict))
    bad = Sent({"total": 7}, "/orders", headers=keyed('"k"'))
    assert bad.to(service).answer.status == 422
    assert bad.to(service).decision is Decision.REPLAYED


@pytest.mark.parametrize(
    ("profile", "length", "sent"),
    [
        ("resend", 256, lambda key: resend("done", key=key)),
        ("sqs", 128, lambda key: sqs("SendMessage", MessageBody="x", MessageDeduplicationId=key)),
        (
            "dynamodb",
            36,
            lambda key: amazon("TransactWriteItems", {**transaction("7").body, "ClientRequestToken": key}),
        ),
        ("ec2", 64, lambda key: launch("ami-1", key)),
    ],
)
def test_a_key_may_be_so_long_and_no_longer(shop, profile, length, sent):
    service = shop(profile)
    assert sent("k" * length).to(service).decision is Decision.APPLIED
    assert outcome(sent("k" * (length + 1)).to(service)) == (Decision.REJECTED, 400)


# ------------------------------------------------------------------------------------------ what only one of them has


def test_slack_takes_forms_too_and_answers_mistakes_with_200(shop):
    service = shop("slack")
    posted = Sent(b"channel=C1&text=hello&token=xoxb", "/api/chat.postMessage", kind=FORM).to(service)
    said = json.loads(posted.answer.body)
    assert (said["ok"], said["channel"], said["message"]["text"]) == (True, "C1", "hello")
    assert "xoxb" not in posted.answer.body.decode()
    refused = Sent({"text": "x"}, "/api/chat.postMessage").to(service)
    assert (refused.decision, refused.answer.status) == (Decision.REJECTED, 200)
    assert json.loads(refused.answer.body)["ok"] is False


def test_slack_shows_a_threads_replies_and_the_newest_message_first(shop):
    service = shop("slack")
    ts = json.loads(slack(text="one").to(service).answer.body)["ts"]
    slack(text="two", thread_ts=ts).to(service)
    found = json.loads(HISTORY.to(service).answer.body)["messages"]
    assert [message["text"] for message in found] == ["two", "one"]
    replies = Sent(path=f"/api/conversations.replies?channel=C1&ts={ts}", method="GET").to(service)
    assert [message["text"] for message in json.loads(replies.answer.body)["messages"]] == ["two"]


def test_a_form_mailer_sends_each_time_too(shop):
    service = shop("mail")
    sent = Sent(b"from=a%40b.c&to=d%40e.f&subject=x", "/v3/b.c/messages", kind=FORM)
    assert [outcome(sent.to(service)) for _ in range(2)] == [AGAIN, AGAIN]
    assert json.loads(sent.to(service).answer.body)["id"].endswith("@b.c>")


def test_resend_names_its_errors_and_has_one_key_space_for_both_endpoints(shop):
    service = shop("resend")
    resend("done").to(service)
    batch = Sent([{"from": "a@b.c", "to": "d@e.f"}], "/emails/batch", headers=keyed())
    for refused, name in (
        (resend("finished"), "invalid_idempotent_request"),
        (batch, "invalid_idempotent_request"),
        (resend("done", key="k" * 257), "invalid_idempotency_key"),
    ):
        assert json.loads(refused.to(service).answer.body)["name"] == name
    resend("other", key="l").to(service, unfinished=True)
    assert json.loads(resend("other", key="l").to(service).answer.body)["name"] == "concurrent_idempotent_requests"


def test_resend_keeps_nothing_of_a_request_that_failed(shop):
    service = shop("resend")
    assert Sent({"from": "a@b.c"}, "/emails", headers=keyed()).to(service).answer.status == 422
    assert outcome(resend("done").to(service)) == AGAIN


def test_shopify_refuses_a_refund_without_a_key_since_2026_04_and_did_it_before(shop):
    bare = graphql(REFUND.replace(' @idempotent(key: "k")', ""), SHOP, i={"orderId": "1"})
    assert outcome(bare.to(shop("shopify"))) == (Decision.REJECTED, 200)
    assert outcome(bare.to(shop("shopify", "idempotent-optional"))) == AGAIN
    assert outcome(refund("broken").to(shop("shopify", "idempotent-optional"))) == AGAIN


def test_shopify_tells_mistakes_with_keys_as_user_errors_under_the_fields_alias(shop):
    service = shop("shopify")
    made = json.loads(refund("broken").to(service).answer.body)["data"]["done"]
    refused = json.loads(refund("damaged").to(service).answer.body)["data"]["done"]
    assert (made["refund"]["note"], made["userErrors"]) == ("broken", [])
    assert refused["userErrors"][0]["code"] == "IDEMPOTENCY_KEY_PARAMETER_MISMATCH"
    service = shop("shopify")
    refund("broken").to(service, unfinished=True)
    busy = json.loads(refund("broken").to(service).answer.body)["data"]["done"]
    assert busy["userErrors"][0]["code"] == "IDEMPOTENCY_CONCURRENT_REQUEST"


def test_shopify_takes_the_key_from_a_variable_and_adjusts_an_inventory_once(shop):
    text = (
        "mutation($i: InventoryAdjustQuantitiesInput!, $k: String!) "
        "{ inventoryAdjustQuantities(input: $i) @idempotent(key: $k) { userErrors { code } } }"
    )
    changes = [{"delta": 5, "inventoryItemId": "gid://1", "locationId": "gid://2"}]
    service = shop("shopify")
    sent = [graphql(text, SHOP, i={"changes": changes}, k=key).to(service).decision for key in ("a", "a", "b")]
    assert sent == [Decision.APPLIED, Decision.REPLAYED, Decision.APPLIED]


def test_shopify_finds_an_order_by_id_at_once(shop):
    service = shop("shopify")
    made = json.loads(graphql(ORDER, SHOP, o={"email": "a@b.c"}).to(service).answer.body)["data"]["orderCreate"][
        "order"
    ]
    found = graphql("query($id: ID!) { order(id: $id) { id } }", SHOP, id=made["id"]).to(service)
    missing = graphql('{ order(id: "gid://shopify/Order/none") { id } }', SHOP).to(service)
    assert json.loads(found.answer.body)["data"]["order"]["email"] == "a@b.c"
    assert json.loads(missing.answer.body) == {"data": {"order": None}}


def test_monday_marks_an_answer_that_is_given_again_and_says_when_to_come_back(shop):
    service = shop("monday")
    first, again = item("Review").to(service), item("Review").to(service)
    assert first.answer.body == again.answer.body
    assert ("Idempotency-Replayed", "true") in again.answer.headers
    assert ("Idempotency-Replayed", "true") not in first.answer.headers
    service = shop("monday")
    item("Review").to(service, unfinished=True)
    assert ("Retry-After", "1") in item("Review").to(service).answer.headers


def test_monday_finds_an_item_by_a_column_value(shop):
    service = shop("monday")
    create = "mutation($v: JSON) { create_item(board_id: 7, item_name: $n, column_values: $v) { id } }"
    for reference in ("r-1", "r-2"):
        values = json.dumps({"reference": reference})
        graphql(create.replace("$n", f'"{reference}"'), "/v2", v=values).to(service)
    ask = (
        'query($v: [String]!) { items_page_by_column_values(board_id: 7, columns: [{column_id: "reference", '
        "column_values: $v}]) { items { id } } }"
    )
    # Variables inside of lists and objects are put in too.
    found = json.loads(graphql(ask, "/v2", v=["r-2"]).to(service).answer.body)
    assert [one["name"] for one in found["data"]["items_page_by_column_values"]["items"]] == ["r-2"]


def test_a_calendar_may_overlook_for_a_minute_that_an_id_is_taken(shop):
    service = shop("google-calendar")
    event("Annual review").to(service)
    service.clock.move(59)
    assert event("Annual review").to(service).decision is Decision.APPLIED
    service = shop("google-calendar")
    event("Annual review").to(service)
    service.clock.move(60)
    assert outcome(event("Annual review").to(service)) == (Decision.EXISTING, 409)


def test_an_event_id_is_taken_in_its_calendar_only_and_an_event_needs_none(shop):
    service = shop("google-calendar", "event-id-noticed")
    event("a").to(service)
    elsewhere = event("a").to
    moved = Sent(event("a").body, "/calendar/v3/calendars/team/events").to(service)
    bare = {name: value for name, value in event("a").body.items() if name != "id"}
    without = [Sent(bare, event("a").path).to(service) for _ in range(2)]
    assert elsewhere(service).answer.status == 409
    assert [handled.decision for handled in (moved, *without)] == [Decision.APPLIED] * 3
    assert len({handled.effect_object_id for handled in without}) == 2
    assert Sent(path=f"{event('a').path}/abcde", method="GET").to(service).answer.status == 200


@pytest.mark.parametrize(("headers", "status"), [({}, 400), (keyed("bare"), 400), (keyed('""'), 400)])
def test_the_draft_wants_a_key_that_is_a_structured_string(shop, headers, status):
    refused = Sent({"reference": "o"}, "/orders", headers=headers).to(shop("ietf"))
    assert outcome(refused) == (Decision.REJECTED, status)
    assert dict(refused.answer.headers)["Content-Type"] == "application/problem+json"


def test_a_key_of_the_draft_counts_at_its_address_only_and_a_client_msg_id_in_its_channel_only(shop):
    service = shop("ietf")
    for path in ("/orders", "/refunds"):
        assert Sent({"reference": "o-1"}, path, headers=keyed('"k"')).to(service).decision is Decision.APPLIED
    service = shop("slack", "client-msg-id")
    for channel in ("C1", "C2"):
        posted = Sent({"channel": channel, "text": "x", "client_msg_id": "k"}, "/api/chat.postMessage").to(service)
        assert posted.decision is Decision.APPLIED


def test_an_id_counts_in_its_queue_and_where_so_configured_in_its_group(shop):
    def sent(service, queue, group):
        message = sqs("SendMessage", MessageBody="x", MessageGroupId=group, MessageDeduplicationId="k")
        return Sent({**message.body, "QueueUrl": queue}, headers=message.headers, kind=AMZ).to(service).decision

    for protection, in_another_group in (("fifo", Decision.REPLAYED), ("fifo-group", Decision.APPLIED)):
        service = shop("sqs", protection)
        assert sent(service, "orders", "a") is Decision.APPLIED
        assert sent(service, "orders", "b") is in_another_group
        assert sent(service, "other", "a") is Decision.APPLIED


def test_a_message_that_is_dropped_is_answered_with_the_checksum_of_what_was_sent(shop):
    service = shop("sqs")
    first, other = (sqs("SendMessage", MessageBody=body, **MESSAGE).to(service) for body in ("pay 7", "pay seven"))
    said = [json.loads(handled.answer.body) for handled in (first, other)]
    assert [each["MD5OfMessageBody"] for each in said] == [
        "500c8eb40919fd993b388023c973d4f1",
        "3f81b7c9d57f5f6dc4934a9a8801dd01",
    ]
    assert said[0]["MessageId"] == said[1]["MessageId"]


def test_an_id_that_is_sent_comes_before_the_digest_of_the_body(shop):
    service = shop("sqs", "fifo-content")
    sent = [
        sqs("SendMessage", MessageBody="x", MessageGroupId="g", **more).to(service).decision
        for more in ({}, {"MessageDeduplicationId": "k"}, {"MessageAttributes": {"a": {"StringValue": "b"}}})
    ]
    assert sent == [Decision.APPLIED, Decision.APPLIED, Decision.REPLAYED]


def test_a_deduplication_id_is_known_after_its_message_was_deleted(shop):
    service = shop("sqs")
    send = sqs("SendMessage", MessageBody="x", **MESSAGE)
    handle = json.loads(send.to(service).answer.body)["MessageId"]
    assert sqs("DeleteMessage", ReceiptHandle=handle).to(service).decision is Decision.APPLIED
    assert send.to(service).decision is Decision.REPLAYED
    assert json.loads(RECEIVE.to(service).answer.body) == {"Messages": []}


def test_a_token_is_known_from_the_completion_of_its_transaction_on(shop):
    service = shop("dynamodb")
    running = transaction("7").to(service, unfinished=True)
    service.clock.move(10 * MINUTE_S)
    assert outcome(transaction("7").to(service)) == (Decision.CONFLICT, 400)
    service.engine.complete(running)
    service.clock.move(10 * MINUTE_S - 1)
    assert transaction("7").to(service).decision is Decision.REPLAYED
    service.clock.move(1)
    assert transaction("7").to(service).decision is Decision.APPLIED


def test_a_transaction_may_be_conditional_and_a_put_without_a_condition_writes_over(shop):
    service = shop("dynamodb")
    put_item("7").to(service)
    assert outcome(put_item("7").to(service)) == (Decision.EXISTING, 200)
    assert outcome(put_item("8").to(service)) == AGAIN
    put = {"TableName": "orders", "Item": {"pk": {"S": "o-1"}}, **ABSENT}
    refused = amazon("TransactWriteItems", {"TransactItems": [{"Put": put}]}).to(service)
    assert outcome(refused) == (Decision.EXISTING, 400)
    assert json.loads(refused.answer.body)["__type"].endswith("#TransactionCanceledException")


def test_a_query_that_the_fake_cannot_read_is_refused_rather_than_answered_with_everything(shop):
    service = shop("dynamodb")
    put_item("7").to(service)
    names = {"TableName": "orders", "ExpressionAttributeValues": {":pk": {"S": "o-2"}}, "ConsistentRead": True}
    query = amazon("Query", {**names, "KeyConditionExpression": "pk = :pk"})
    assert json.loads(query.to(service).answer.body) == {"Items": [], "Count": 0, "ScannedCount": 0}
    with pytest.raises(AssertionError):  # no operation means that
        amazon("Query", {**names, "KeyConditionExpression": "pk = :pk AND sk > :sk"}).to(service)


def test_an_object_is_written_over_without_a_condition_and_again_after_it_was_deleted(shop):
    service = shop("s3")
    plain, absent = put_object(b"one"), put_object(b"one", **{"If-None-Match": "*"})
    assert [outcome(put.to(service)) for put in (plain, plain, put_object(b"two"))] == [
        AGAIN,
        (Decision.EXISTING, 200),
        AGAIN,
    ]
    delete = Sent(path="/reports/2026/a.txt", method="DELETE")
    assert [outcome(delete.to(service)) for _ in range(2)] == [(Decision.APPLIED, 204), (Decision.EXISTING, 204)]
    assert outcome(absent.to(service)) == AGAIN


def test_a_client_token_is_forgotten_a_day_after_its_instance_has_ended(shop):
    service = shop("ec2")
    instance = launch("ami-1").to(service).effect_object_id
    end = Sent(f"Action=TerminateInstances&InstanceId.1={instance}".encode(), kind=FORM)
    service.clock.move(AGES_S)
    assert outcome(end.to(service)) == AGAIN
    service.clock.move(DAY_S - 1)
    again = launch("ami-1").to(service)
    assert again.decision is Decision.REPLAYED
    assert "<name>terminated</name>" in again.answer.body.decode()
    service.clock.move(1)
    assert outcome(launch("ami-1").to(service)) == AGAIN


def test_a_client_token_tells_cases_of_letters_apart_and_has_at_most_64_characters(shop):
    service = shop("ec2")
    sent = [launch("ami-1", token).to(service) for token in ("k", "K", "k" * 65)]
    assert [handled.decision for handled in sent] == [Decision.APPLIED, Decision.APPLIED, Decision.REJECTED]


# ------------------------------------------------------------------------------------------------- told by the profiles


PROFILES = sorted({walk.profile for walk in WALKS})


@pytest.mark.parametrize("name", PROFILES)
def test_what_nobody_found_out_stands_with_its_protection_and_among_the_sources(name):
    profile = load_profile(name)
    is_unknown = any(source.grade == "unknown" for source in profile.sources)
    assert is_unknown or not any(protection.unknown for protection in profile.protections.values())
    for protection in profile.protections.values():
        for fact in facts(profile, "t", protection.name).values():
            assert bool(fact.unknown) == bool(protection.unknown and fact.effectful)


@pytest.mark.parametrize("name", PROFILES)
def test_no_identity_is_made_of_what_a_service_takes_for_a_key(name):
    profile = load_profile(name)
    places = {place for protection in profile.protections.values() for rule in protection.keys for place in rule.places}
    assert [path for item in profile.operations for path in item.identity if path in places] == []
