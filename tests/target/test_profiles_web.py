"""Payment, ticket and record services: what their sources say of repeats, walked through by hand.

What is expected here is written from the facts, not from the profiles: a profile that drifts away from them fails.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from ackgap.model.event import Decision

APPLIED, REPLAYED, REJECTED = Decision.APPLIED, Decision.REPLAYED, Decision.REJECTED
CONFLICT, EXISTING = Decision.CONFLICT, Decision.EXISTING
HOUR_S = 3600
DAY_S = 24 * HOUR_S
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, kw_only=True)
class Walk:
    """A request of a service, and what becomes of its repeats under one key."""

    service: str
    path: str
    payload: Any
    reworded: Any
    protection: str | None = None
    method: str = "POST"
    header: str = ""
    body_field: str = ""
    repeat: Decision = REPLAYED
    other: Decision = REJECTED
    other_status: int = 400
    other_says: str = ""
    concurrent: Decision = CONFLICT
    concurrent_status: int = 409
    window_s: float | None = None
    marks: dict[str, str] = field(default_factory=dict)

    def ask(self, shop: Any, payload: Any = None, *, key: str | None = "key-1", begin: bool = False) -> Any:
        payload = self.payload if payload is None else payload
        headers = {self.header: key} if self.header and key else {}
        if self.body_field and key:
            payload = {**payload, self.body_field: key}
        kind = {"content_type": FORM} if isinstance(payload, bytes) else {}
        return (shop.begin if begin else shop.ask)(self.method, self.path, payload, headers=headers, **kind)

    def __str__(self) -> str:
        return f"{self.service}{f' {self.protection}' if self.protection else ''} {self.path}"


ORDER = {
    "intent": "CAPTURE",
    "purchase_units": [
        {"reference_id": "case-7", "amount": {"value": "10.00", "currency_code": "EUR"}, "description": "one"}
    ],
}
OTHER_ORDER = {"intent": "CAPTURE", "purchase_units": [{**ORDER["purchase_units"][0], "description": "two"}]}
REFUND = {"amount": {"value": "4.00", "currency_code": "EUR"}, "note_to_payer": "one"}
SQUARE = {"source_id": "cnon", "amount_money": {"amount": 1000, "currency": "EUR"}, "reference_id": "7", "note": "one"}
SQUARE_REFUND = {"payment_id": "pay0001", "amount_money": {"amount": 400, "currency": "EUR"}, "reason": "one"}
ADYEN = {
    "merchantAccount": "Shop",
    "reference": "case-7",
    "amount": {"value": 1000, "currency": "EUR"},
    "paymentMethod": {"type": "scheme"},
    "shopperStatement": "one",
}
TICKET = {"ticket": {"subject": "one", "comment": {"body": "one"}, "external_id": "case-7"}}
OTHER_TICKET = {"ticket": {**TICKET["ticket"], "subject": "two"}}
STRIPE = b"amount=1000&currency=eur&customer=cus_1&metadata[order]=7&description=one"

KEYED = [
    Walk(
        service="stripe",
        path="/v1/charges",
        header="Idempotency-Key",
        payload=STRIPE,
        reworded=STRIPE.replace(b"=one", b"=two"),
        other_says="idempotency_error",
        window_s=DAY_S,
        marks={"Idempotent-Replayed": "true", "Idempotency-Key": "key-1"},
    ),
    Walk(
        service="paypal",
        path="/v2/checkout/orders",
        header="PayPal-Request-Id",
        payload=ORDER,
        reworded=OTHER_ORDER,
        other=REPLAYED,
        other_status=201,
        window_s=6 * HOUR_S,
    ),
    Walk(
        service="paypal",
        protection="request-id-compared",
        path="/v2/checkout/orders",
        header="PayPal-Request-Id",
        payload=ORDER,
        reworded=OTHER_ORDER,
        other_status=422,
        other_says="PAYPAL_REQUEST_ID_PREVIOUSLY_USED",
        window_s=6 * HOUR_S,
    ),
    Walk(
        service="paypal",
        path="/v2/payments/captures/3C6/refund",
        header="PayPal-Request-Id",
        payload=REFUND,
        reworded={**REFUND, "note_to_payer": "two"},
        other=REPLAYED,
        other_status=201,
        window_s=45 * DAY_S,
    ),
    Walk(
        service="square",
        path="/v2/payments",
        body_field="idempotency_key",
        payload=SQUARE,
        reworded={**SQUARE, "note": "two"},
        other_says="IDEMPOTENCY_KEY_REUSED",
        concurrent=APPLIED,
        concurrent_status=200,
        window_s=HOUR_S / 2,
    ),
    Walk(
        service="square",
        path="/v2/refunds",
        body_field="idempotency_key",
        payload=SQUARE_REFUND,
        reworded={**SQUARE_REFUND, "reason": "two"},
        other_says="IDEMPOTENCY_KEY_REUSED",
        concurrent=APPLIED,
        concurrent_status=200,
        window_s=HOUR_S / 2,
    ),
    Walk(
        service="square",
        protection="idempotency-key-kept",
        path="/v2/payments",
        body_field="idempotency_key",
        payload=SQUARE,
        reworded={**SQUARE, "note": "two"},
        other_says="IDEMPOTENCY_KEY_REUSED",
        concurrent=APPLIED,
        concurrent_status=200,
        window_s=None,
    ),
    Walk(
        service="adyen",
        path="/v71/payments",
        header="Idempotency-Key",
        payload=ADYEN,
        reworded={**ADYEN, "shopperStatement": "two"},
        other=REPLAYED,
        other_status=200,
        concurrent=APPLIED,
        concurrent_status=200,
        window_s=31 * DAY_S,
        marks={"Idempotency-Key": "key-1"},
    ),
    Walk(
        service="adyen",
        protection="idempotency-key-brief",
        path="/v71/payments/PSP0001/refunds",
        header="Idempotency-Key",
        payload=ADYEN,
        reworded={**ADYEN, "shopperStatement": "two"},
        other=REPLAYED,
        other_status=201,
        concurrent=APPLIED,
        concurrent_status=201,
        window_s=HOUR_S / 2,
        marks={"Idempotency-Key": "key-1"},
    ),
    Walk(
        service="zendesk",
        path="/api/v2/tickets.json",
        header="Idempotency-Key",
        payload=TICKET,
        reworded=OTHER_TICKET,
        other_says="IdempotentRequestError",
        concurrent=APPLIED,
        concurrent_status=201,
        window_s=2 * HOUR_S,
        marks={"x-idempotency-lookup": "hit"},
    ),
    Walk(
        service="zendesk",
        protection="idempotency-key-busy",
        path="/api/v2/tickets",
        header="Idempotency-Key",
        payload=TICKET,
        reworded=OTHER_TICKET,
        other_says="IdempotentRequestError",
        window_s=2 * HOUR_S,
        marks={"x-idempotency-lookup": "hit"},
    ),
]
keyed = pytest.mark.parametrize("walk", KEYED, ids=str)

KEYLESS = [
    Walk(service="zendesk", method="PUT", path="/api/v2/tickets/1", payload=TICKET, reworded=OTHER_TICKET),
    Walk(
        service="jira",
        path="/rest/api/3/issue",
        payload={"fields": {"project": {"key": "OPS"}, "summary": "one"}},
        reworded={"fields": {"project": {"key": "OPS"}, "summary": "two"}},
    ),
    Walk(
        service="jira",
        path="/rest/api/3/issue/OPS-1/comment",
        payload={"body": {"type": "doc", "version": 1}},
        reworded={"body": {"type": "doc", "version": 2}},
    ),
    Walk(
        service="servicenow",
        path="/api/now/table/incident",
        payload={"correlation_id": "case-7", "short_description": "one"},
        reworded={"correlation_id": "case-7", "short_description": "two"},
    ),
    Walk(
        service="salesforce",
        path="/services/data/v68.0/sobjects/Case",
        payload={"Subject": "one", "External_Id__c": "case-7"},
        reworded={"Subject": "two", "External_Id__c": "case-7"},
    ),
    Walk(
        service="github",
        path="/repos/o/r/issues",
        payload={"title": "one"},
        reworded={"title": "two"},
    ),
    Walk(
        service="github",
        path="/repos/o/r/issues/1/comments",
        payload={"body": "one"},
        reworded={"body": "two"},
    ),
]


def body(handled: Any) -> Any:
    return json.loads(handled.answer.body) if handled.answer.body else None


def headers(handled: Any) -> dict[str, str]:
    return dict(handled.answer.headers)


# ------------------------------------------------------------------------------------------------------------- keys


@keyed
def test_a_repeat_with_its_key_has_no_second_effect_and_gets_the_answer_again(shop, walk):
    service = shop(walk.service, walk.protection)
    first = walk.ask(service)
    again = walk.ask(service)
    assert (first.decision, again.decision) == (APPLIED, walk.repeat)
    assert again.effect_object_id is None
    assert (again.answer.status, body(again)) == (first.answer.status, body(first))
    assert walk.marks.items() <= headers(again).items()


@keyed
def test_without_a_key_each_request_is_an_effect_or_refused(shop, walk):
    service = shop(walk.service, walk.protection)
    decisions = [walk.ask(service, key=None).decision for _ in range(2)]
    # Square's keys are required fields.
    assert decisions == ([REJECTED] * 2 if walk.body_field else [APPLIED] * 2)


@keyed
def test_another_payload_under_the_same_key_is_answered_as_the_service_does(shop, walk):
    service = shop(walk.service, walk.protection)
    first = walk.ask(service)
    other = walk.ask(service, walk.reworded)
    assert (other.decision, other.answer.status) == (walk.other, walk.other_status)
    assert other.effect_object_id is None
    if walk.other is REPLAYED:
        assert body(other) == body(first)
    else:
        assert walk.other_says in other.answer.body.decode()


@keyed
def test_a_second_request_while_the_first_runs_is_treated_as_the_service_does(shop, walk):
    service = shop(walk.service, walk.protection)
    walk.ask(service, begin=True)
    meanwhile = walk.ask(service)
    assert (meanwhile.decision, meanwhile.answer.status) == (walk.concurrent, walk.concurrent_status)


@keyed
def test_a_key_is_known_until_its_window_has_closed_and_not_after(shop, walk):
    service = shop(walk.service, walk.protection)
    walk.ask(service)
    service.clock.move((walk.window_s or 10_000 * DAY_S) - 1)
    assert walk.ask(service).decision is REPLAYED
    service.clock.move(1)
    assert walk.ask(service).decision is (APPLIED if walk.window_s else REPLAYED)


@pytest.mark.parametrize("walk", KEYLESS, ids=str)
def test_a_service_without_keys_does_everything_again(shop, walk):
    service = shop(walk.service)
    shop_key = {"Idempotency-Key": "key-1"}
    if walk.method == "PUT":
        service.ask("POST", "/api/v2/tickets", TICKET)
    asked = [service.ask(walk.method, walk.path, sent, headers=shop_key) for sent in (walk.payload,) * 2]
    service.clock.move(30 * DAY_S)
    asked.append(service.ask(walk.method, walk.path, walk.reworded, headers=shop_key))
    assert [handled.decision for handled in asked] == [APPLIED] * 3


@pytest.mark.parametrize(
    ("service", "path", "payload", "name", "length", "status"),
    [
        ("stripe", "/v1/charges", STRIPE, "Idempotency-Key", 255, 400),
        ("paypal", "/v2/checkout/orders", ORDER, "PayPal-Request-Id", 108, 400),
        ("adyen", "/v71/payments", ADYEN, "Idempotency-Key", 64, 422),
        ("zendesk", "/api/v2/tickets", TICKET, "Idempotency-Key", 255, 400),
    ],
)
def test_a_key_may_be_as_long_as_the_service_says(shop, service, path, payload, name, length, status):
    asked = shop(service)
    kind = {"content_type": FORM} if isinstance(payload, bytes) else {}
    assert asked.ask("POST", path, payload, headers={name: "k" * length}, **kind).decision is APPLIED
    refused = asked.ask("POST", path, payload, headers={name: "k" * (length + 1)}, **kind)
    assert (refused.decision, refused.answer.status) == (REJECTED, status)


# ---------------------------------------------------------------------------------------------------------- payments


def test_paypal_captures_an_order_once_whatever_the_key(shop):
    paypal = shop("paypal")
    order = body(paypal.ask("POST", "/v2/checkout/orders", ORDER))["id"]
    path = f"/v2/checkout/orders/{order}/capture"
    first = paypal.ask("POST", path, headers={"PayPal-Request-Id": "a"})
    repeat = paypal.ask("POST", path, headers={"PayPal-Request-Id": "a"})
    fresh = paypal.ask("POST", path, headers={"PayPal-Request-Id": "b"})
    assert [first.decision, repeat.decision, fresh.decision] == [APPLIED, REPLAYED, REJECTED]
    assert (fresh.answer.status, body(fresh)["details"][0]["issue"]) == (422, "ORDER_ALREADY_CAPTURED")
    capture = body(first)["purchase_units"][0]["payments"]["captures"][0]
    assert (capture["status"], capture["amount"]["value"]) == ("COMPLETED", "10.00")
    assert body(paypal.ask("GET", f"/v2/checkout/orders/{order}"))["status"] == "COMPLETED"


def test_paypal_answers_a_repeat_with_the_state_of_now(shop):
    paypal = shop("paypal")
    created = paypal.ask("POST", "/v2/checkout/orders", ORDER, headers={"PayPal-Request-Id": "a"})
    paypal.ask("POST", f"/v2/checkout/orders/{body(created)['id']}/capture")
    repeat = paypal.ask("POST", "/v2/checkout/orders", ORDER, headers={"PayPal-Request-Id": "a"})
    assert (body(created)["status"], body(repeat)["status"]) == ("CREATED", "COMPLETED")


def test_paypal_knows_an_id_only_at_the_path_where_it_was_used(shop):
    paypal = shop("paypal")
    sent = [
        paypal.ask("POST", f"/v2/payments/captures/{capture}/refund", REFUND, headers={"PayPal-Request-Id": "a"})
        for capture in ("3C61", "3C62")
    ]
    assert [handled.decision for handled in sent] == [APPLIED] * 2


def test_square_cancels_the_payment_of_a_key_and_succeeds_without_one(shop):
    square = shop("square")
    paid = square.ask("POST", "/v2/payments", {**SQUARE, "idempotency_key": "a"})
    nothing = square.ask("POST", "/v2/payments/cancel", {"idempotency_key": "b"})
    first, again = (square.ask("POST", "/v2/payments/cancel", {"idempotency_key": "a"}) for _ in range(2))
    assert [handled.answer.status for handled in (nothing, first, again)] == [200] * 3
    assert [handled.decision for handled in (nothing, first, again)] == [REJECTED, APPLIED, REJECTED]
    payment = body(square.ask("GET", f"/v2/payments/{paid.effect_object_id}"))["payment"]
    assert (payment["status"], payment["reference_id"]) == ("CANCELED", "7")


def test_square_shows_no_key_by_which_a_payment_could_be_found(shop):
    square = shop("square", settings={"list_lag_s": 30})
    square.ask("POST", "/v2/payments", {**SQUARE, "idempotency_key": "secret-key"})
    assert body(square.ask("GET", "/v2/payments"))["payments"] == []
    square.clock.move(30)
    listed = square.ask("GET", "/v2/payments")
    assert [payment["reference_id"] for payment in body(listed)["payments"]] == ["7"]
    assert b"secret-key" not in listed.answer.body


@pytest.mark.parametrize(
    ("service", "path", "failing", "right", "where"),
    [
        ("paypal", "/v2/checkout/orders", {"intent": "CAPTURE"}, ORDER, "PayPal-Request-Id"),
        ("adyen", "/v71/payments", {"reference": "x"}, ADYEN, "Idempotency-Key"),
        ("zendesk", "/api/v2/tickets", {"ticket": {"subject": "x"}}, TICKET, "Idempotency-Key"),
    ],
)
def test_a_failure_leaves_its_key_free(shop, service, path, failing, right, where):
    asked = shop(service)
    assert asked.ask("POST", path, failing, headers={where: "a"}).decision is REJECTED
    assert asked.ask("POST", path, right, headers={where: "a"}).decision is APPLIED


# ---------------------------------------------------------------------------------------------------- lookups, lag


def test_stripes_search_lags_and_its_lists_do_not(shop):
    stripe = shop("stripe")
    made = body(stripe.ask("POST", "/v1/charges", STRIPE, content_type=FORM))["id"]
    stripe.ask("POST", "/v1/charges", STRIPE.replace(b"=7", b"=8"), content_type=FORM)
    search = "/v1/charges/search?query=metadata%5B%27order%27%5D%3A%277%27%20AND%20amount%3A1000"
    assert [charge["id"] for charge in body(stripe.ask("GET", "/v1/charges?customer=cus_1"))["data"]][-1] == made
    stripe.clock.move(59)
    assert body(stripe.ask("GET", search))["data"] == []
    stripe.clock.move(1)
    found = body(stripe.ask("GET", search))
    assert (found["object"], [charge["id"] for charge in found["data"]]) == ("search_result", [made])
    assert found["data"][0]["amount"] == 1000


def test_zendesk_finds_a_new_ticket_by_its_external_id_before_a_search_does(shop):
    zendesk = shop("zendesk")
    made = body(zendesk.ask("POST", "/api/v2/tickets.json", TICKET))["ticket"]
    zendesk.ask("POST", "/api/v2/tickets", {"ticket": {**TICKET["ticket"], "external_id": "case-8"}})
    listed = body(zendesk.ask("GET", "/api/v2/tickets.json?external_id=case-7"))["tickets"]
    assert [ticket["id"] for ticket in listed] == [made["id"]]
    search = "/api/v2/search.json?query=type%3Aticket%20external_id%3Acase-7"
    zendesk.clock.move(119)
    assert body(zendesk.ask("GET", search)) == {"results": [], "count": 0, "next_page": None}
    zendesk.clock.move(1)
    assert [ticket["id"] for ticket in body(zendesk.ask("GET", search))["results"]] == [made["id"]]


def test_zendesk_adds_a_comment_with_each_update_that_has_one(shop):
    zendesk = shop("zendesk")
    zendesk.ask("POST", "/api/v2/tickets", TICKET)
    for update in ({"comment": {"body": "two"}}, {"comment": {"body": "two"}}, {"status": "solved"}):
        done = zendesk.ask("PUT", "/api/v2/tickets/1", {"ticket": update}, headers={"Idempotency-Key": "a"})
        assert done.decision is APPLIED
    comments = body(zendesk.ask("GET", "/api/v2/tickets/1/comments"))["comments"]
    assert [comment["body"] for comment in comments] == ["one", "two", "two"]
    assert body(zendesk.ask("GET", "/api/v2/tickets/1"))["ticket"]["status"] == "solved"
    assert zendesk.ask("PUT", "/api/v2/tickets/1", {}).answer.status == 422
    assert zendesk.ask("PUT", "/api/v2/tickets/9", {"ticket": {"status": "open"}}).answer.status == 404


def test_jiras_search_sees_a_new_issue_late_unless_it_is_asked_for_by_its_number(shop):
    jira = shop("jira")
    fields = {"project": {"key": "OPS"}, "summary": "Review of 4471", "labels": ["run-7"]}
    made = body(jira.ask("POST", "/rest/api/3/issue", {"fields": fields}))
    jira.ask("POST", "/rest/api/3/issue", {"fields": {**fields, "labels": ["run-8"]}})
    jql = {"jql": 'project = OPS AND labels = "run-7" ORDER BY created DESC'}
    get = "/rest/api/3/search/jql?jql=labels%3Drun-7"
    assert body(jira.ask("POST", "/rest/api/3/search/jql", jql))["issues"] == []
    reconciled = {**jql, "reconcileIssues": [int(made["id"])]}
    for found in (
        jira.ask("POST", "/rest/api/3/search/jql", reconciled),
        jira.ask("GET", f"{get}&reconcileIssues={made['id']}"),
    ):
        assert [issue["key"] for issue in body(found)["issues"]] == [made["key"]]
    jira.clock.move(30)
    assert [issue["key"] for issue in body(jira.ask("GET", get))["issues"]] == ["OPS-1"]
    assert body(jira.ask("GET", "/rest/api/3/issue/OPS-1"))["fields"]["summary"] == "Review of 4471"
    assert jira.ask("GET", "/rest/api/3/issue/OPS-9").answer.status == 404


def test_jiras_issues_are_numbered_by_project_and_comments_by_issue(shop):
    jira = shop("jira")
    keys = [
        body(jira.ask("POST", "/rest/api/2/issue", {"fields": {"project": {"key": project}, "summary": "s"}}))["key"]
        for project in ("OPS", "RISK", "OPS")
    ]
    assert keys == ["OPS-1", "RISK-1", "OPS-2"]
    jira.ask("POST", "/rest/api/2/issue/OPS-1/comment", {"body": "one"})
    assert body(jira.ask("GET", "/rest/api/2/issue/OPS-1/comment"))["comments"][0]["body"] == "one"
    assert body(jira.ask("GET", "/rest/api/2/issue/RISK-1/comment"))["total"] == 0


@pytest.mark.parametrize(
    "query",
    ["correlation_id=case-7", "sysparm_query=correlation_id%3Dcase-7%5Eactive%3Dtrue%5EORDERBYnumber"],
)
def test_servicenow_finds_an_incident_by_its_correlation_id(shop, query):
    servicenow = shop("servicenow", settings={"query_lag_s": 5})
    incident = {"correlation_id": "case-7", "short_description": "one"}
    made = body(servicenow.ask("POST", "/api/now/table/incident", incident))["result"]
    servicenow.ask("POST", "/api/now/table/incident", {**incident, "correlation_id": "case-8"})
    assert body(servicenow.ask("GET", f"/api/now/table/incident?{query}"))["result"] == []
    servicenow.clock.move(5)
    found = servicenow.ask("GET", f"/api/now/table/incident?{query}")
    assert [record["sys_id"] for record in body(found)["result"]] == [made["sys_id"]]
    assert headers(found)["X-Total-Count"] == "1"
    changed = servicenow.ask("PATCH", f"/api/now/table/incident/{made['sys_id']}", {"state": "6"})
    assert (changed.decision, body(changed)["result"]["state"]) == (APPLIED, "6")
    assert servicenow.ask("GET", "/api/now/table/incident/0").answer.status == 404


def test_servicenow_refuses_a_second_correlation_id_only_where_an_index_of_ones_own_does(shop):
    incident = {"correlation_id": "case-7", "short_description": "one"}
    for protection, decision in (("none", APPLIED), ("unique-correlation", EXISTING)):
        servicenow = shop("servicenow", protection)
        servicenow.ask("POST", "/api/now/table/incident", incident)
        again = servicenow.ask("POST", "/api/now/table/incident", {**incident, "short_description": "reworded"})
        assert again.decision is decision


CASES = "/services/data/v68.0/sobjects/Case"


def test_salesforce_makes_one_record_of_an_external_id_and_writes_over_it(shop):
    salesforce = shop("salesforce")
    path = f"{CASES}/Ref__c/case-7"
    first = salesforce.ask("PATCH", path, {"Subject": "one"})
    repeat = salesforce.ask("PATCH", path, {"Subject": "one"})
    reworded = salesforce.ask("PATCH", path, {"Subject": "two"})
    assert [first.decision, repeat.decision, reworded.decision] == [APPLIED, EXISTING, APPLIED]
    assert (first.answer.status, body(first)["created"], body(reworded)["created"]) == (201, True, False)
    assert first.effect_object_id == reworded.effect_object_id
    assert body(salesforce.ask("GET", path))["Subject"] == "two"
    assert salesforce.profile.operations[3].overwrites


def test_salesforce_writes_nothing_where_an_external_id_is_not_the_only_one(shop):
    salesforce = shop("salesforce")
    for _ in range(2):
        assert salesforce.ask("POST", CASES, {"Subject": "one", "Ref__c": "case-7"}).answer.status == 201
    torn = salesforce.ask("PATCH", f"{CASES}/Ref__c/case-7", {"Subject": "two"})
    assert (torn.decision, torn.answer.status, len(body(torn))) == (REJECTED, 300, 2)
    assert salesforce.ask("GET", f"{CASES}/Ref__c/case-7").answer.status == 300


def test_salesforce_makes_nothing_where_only_an_update_is_wanted(shop):
    salesforce = shop("salesforce")
    path = f"{CASES}/Ref__c/case-7"
    assert salesforce.ask("PATCH", f"{path}?updateOnly=true", {"Subject": "one"}).answer.status == 404
    salesforce.ask("PATCH", path, {"Subject": "one"})
    assert salesforce.ask("PATCH", f"{path}?updateOnly=true", {"Subject": "two"}).decision is APPLIED


def test_salesforce_queries_one_kind_of_record_and_lags_where_that_is_set(shop):
    salesforce = shop("salesforce", settings={"query_lag_s": 5})
    made = body(salesforce.ask("POST", CASES, {"Ref__c": "case-7"}))["id"]
    salesforce.ask("POST", CASES.replace("Case", "Task"), {"Ref__c": "case-7"})
    query = "/services/data/v68.0/query?q=SELECT+Id+FROM+Case+WHERE+Ref__c+%3D+%27case-7%27+LIMIT+1"
    assert body(salesforce.ask("GET", query))["totalSize"] == 0
    salesforce.clock.move(5)
    found = body(salesforce.ask("GET", query))
    assert ([record["Id"] for record in found["records"]], found["totalSize"]) == ([made], 1)
    assert salesforce.ask("PATCH", f"{CASES}/{made}", {"Status": "Closed"}).decision is APPLIED
    assert body(salesforce.ask("GET", f"{CASES}/{made}"))["Status"] == "Closed"


def test_salesforce_refuses_a_second_record_where_the_external_id_is_unique(shop):
    salesforce = shop("salesforce", "unique-external-id")
    record = {"External_Id__c": "case-7", "Subject": "one"}
    made = body(salesforce.ask("POST", CASES, record))["id"]
    again = salesforce.ask("POST", CASES, {**record, "Subject": "two"})
    assert (again.decision, again.answer.status) == (EXISTING, 400)
    assert made in body(again)[0]["message"]
    assert salesforce.ask("POST", CASES.replace("Case", "Task"), record).decision is APPLIED


def test_github_lists_a_new_issue_at_once_and_finds_it_by_a_search_later(shop):
    github = shop("github")
    made = body(github.ask("POST", "/repos/o/r/issues", {"title": "Review of 4471", "labels": ["run-7"]}))
    github.ask("POST", "/repos/o/other/issues", {"title": "Review of 4471"})
    listed = body(github.ask("GET", "/repos/o/r/issues?state=all&labels=run-7"))
    assert [issue["number"] for issue in listed] == [made["number"]] == [1]
    search = "/search/issues?q=%22Review+of+4471%22+repo%3Ao%2Fr+is%3Aissue"
    github.clock.move(9)
    assert body(github.ask("GET", search))["total_count"] == 0
    github.clock.move(1)
    found = body(github.ask("GET", search))
    assert [issue["repository_url"] for issue in found["items"]] == ["/repos/o/r"]


def test_githubs_comments_are_listed_with_their_issue(shop):
    github = shop("github")
    github.ask("POST", "/repos/o/r/issues", {"title": "one"})
    for text in ("one", "one"):
        assert github.ask("POST", "/repos/o/r/issues/1/comments", {"body": text}).decision is APPLIED
    assert len(body(github.ask("GET", "/repos/o/r/issues/1/comments"))) == 2
    assert body(github.ask("GET", "/repos/o/r/issues/2/comments")) == []
    closed = github.ask("PATCH", "/repos/o/r/issues/1", {"state": "closed"})
    assert (closed.decision, body(closed)["state"], body(closed)["title"]) == (APPLIED, "closed", "one")
    assert github.ask("PATCH", "/repos/o/r/issues/2", {"state": "closed"}).answer.status == 404


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("service", "path", "shape"),
    [
        ("stripe", "/v1/charges", ("error", "type")),
        ("paypal", "/v2/checkout/orders", ("name",)),
        ("square", "/v2/payments", ("errors", 0, "code")),
        ("adyen", "/v71/payments", ("errorCode",)),
        ("zendesk", "/api/v2/tickets", ("error",)),
        ("jira", "/rest/api/3/issue", ("errorMessages",)),
        ("servicenow", "/api/now/table/incident", ("error", "message")),
        ("salesforce", CASES, (0, "errorCode")),
        ("github", "/repos/o/r/issues", ("message",)),
    ],
)
def test_a_malformed_request_and_an_unknown_path_are_answered_in_the_services_shape(shop, service, path, shape):
    asked = shop(service)
    broken = asked.ask("POST", path, b'{"half": ')
    assert (broken.decision, broken.answer.status, broken.effect_object_id) == (Decision.MALFORMED, 400, None)
    for answer in (broken.answer, asked.engine.error("unknown_path", path="/nowhere")):
        said = json.loads(answer.body)
        for step in shape:
            said = said[step]
