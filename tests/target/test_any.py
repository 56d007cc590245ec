"""The service that nobody described: what its requests are taken for, and how they are named."""

from __future__ import annotations

import json

import pytest

from ackgap.model.event import Decision
from ackgap.target.profiles.facts import facts, learned_facts
from ackgap.target.profiles.profile import load_profile


def body(handled):
    return json.loads(handled.answer.body)


def test_a_post_makes_an_object_that_can_be_read_and_listed(shop):
    service = shop("any")
    made = body(service.ask("POST", "/orders", {"sku": "a"}))
    assert made == {"sku": "a", "id": "obj-0001"}
    assert body(service.ask("GET", "/orders/obj-0001")) == made
    assert body(service.ask("GET", "/orders")) == {"items": [made], "count": 1}


def test_each_post_is_an_effect_even_if_equal(shop):
    service = shop("any")
    assert [service.ask("POST", "/orders", {"sku": "a"}).decision for _ in range(2)] == [Decision.APPLIED] * 2


def test_a_read_of_something_unknown_is_an_empty_list_or_not_found(shop):
    service = shop("any")
    assert body(service.ask("GET", "/health")) == {"items": [], "count": 0}
    assert service.ask("GET", "/orders/4471").answer.status == 404


def test_a_list_is_filtered_by_parameters_that_name_a_field(shop):
    service = shop("any")
    for partner in (1, 2, 2):
        service.ask("POST", "/orders", {"partner": partner})
    assert body(service.ask("GET", "/orders?partner=2&limit=50"))["count"] == 2
    assert body(service.ask("GET", "/orders?limit=1"))["count"] == 3


def test_an_identical_put_adds_no_effect_and_a_different_one_does(shop):
    service = shop("any")
    puts = [service.ask("PUT", "/docs/a1", {"v": v}) for v in (1, 1, 2, 1)]
    assert [put.decision for put in puts] == [Decision.APPLIED, Decision.EXISTING, Decision.APPLIED, Decision.APPLIED]
    assert body(service.ask("GET", "/docs/a1")) == {"id": "a1", "v": 1}


def test_a_second_delete_adds_no_effect_until_the_thing_is_back(shop):
    service = shop("any")
    assert service.ask("DELETE", "/docs/a-1").decision is Decision.APPLIED
    assert service.ask("DELETE", "/docs/a-1").decision is Decision.EXISTING
    service.ask("PUT", "/docs/a-1", {})
    assert service.ask("DELETE", "/docs/a-1").decision is Decision.APPLIED


def test_a_patch_is_an_effect_each_time(shop):
    service = shop("any")
    assert [service.ask("PATCH", "/docs/a-1", {"v": 1}).decision for _ in range(2)] == [Decision.APPLIED] * 2
    assert body(service.ask("GET", "/docs/a-1")) == {"id": "a-1", "v": 1}


@pytest.mark.parametrize("sent", [None, b"plain text", [1, 2]])
def test_a_post_may_carry_anything(shop, sent):
    assert shop("any").ask("POST", "/x", sent, content_type="" if isinstance(sent, bytes) else "application/json")


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("POST", "/tickets", "t.POST/tickets"),
        ("DELETE", "/tickets/4471", "t.DELETE/tickets/{id}"),
        ("GET", "/tickets/T-0001?full=1", "t.GET/tickets/{id}"),
        ("HEAD", "/tickets/T-0001", "t.GET/tickets/{id}"),
        ("POST", "/v1/charges", "t.POST/v1/charges"),
        ("POST", "/a/9b2f7c1e-1111-4222-8333-0123456789ab/close", "t.POST/a/{id}/close"),
        ("PUT", "/objects/0123456789abcdef", "t.PUT/objects/{id}"),
        ("POST", "/feedback", "t.POST/feedback"),
        ("POST", "/oauth2/token", "t.POST/oauth2/token"),
        ("POST", "/", "t.POST/"),
        ("POST", "//x///y/", "t.POST/x/y"),
        ("POST", "http://host:1/x?y=1", "t.POST/x"),
    ],
)
def test_an_operation_is_named_by_method_and_path_with_ids_left_out(method, path, name):
    assert load_profile("any").operation_name("t", method, path) == name


@pytest.mark.parametrize("path", ["/a b", "/a%20b", "/a@b", "/a,b;c", "/[x]*", "/ä", "/a\tb"])
def test_a_name_can_be_part_of_a_crash_point_whatever_the_path(path):
    from ackgap.model.boundary import CrashPoint

    name = load_profile("any").operation_name("t", "POST", path)
    assert CrashPoint.parse(f"{name}#1:applied").name == name
    assert not set("*?[]") & set(name)


def test_facts_are_learned_one_operation_at_a_time():
    profile = load_profile("any")
    assert facts(profile, "t", None) == {}
    post = learned_facts(profile, "t", None, (), "t.POST/orders/{id}/ship")
    assert (post.name, post.effectful, post.identity, post.honours_keys) == ("t.POST/orders/{id}/ship", True, (), False)
    assert post.could_protect == ()
    assert learned_facts(profile, "t", None, (), "t.GET/orders").effectful is False
    assert learned_facts(profile, "t", None, ("t.POST/orders/*",), "t.POST/orders/{id}/ship").effectful is False
    assert learned_facts(profile, "t", "idempotency-key", (), "t.POST/orders").honours_keys is True
