"""Secrets are not written down, by name or by looks, and what only sounds like one stays readable."""

from __future__ import annotations

import time

import pytest

from ackgap.target.wire.payload import REDACTED, safe, safe_at

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "name",
    [
        "auth", "Authorization", "Proxy-Authorization", "X-Auth-Key", "pwd", "passwd", "db_passwd", "password",
        "DB_PASSWORD", "cookie", "Set-Cookie", "private_key", "privateKey", "client_secret", "clientsecret",
        "connection_string", "ConnectionString", "api_key", "X-Api-Key", "apikey", "accessToken", "access_token",
        "csrftoken", "AWS_SECRET_ACCESS_KEY", "jwt", "bearer", "passphrase", "credentials",
    ],
)  # fmt: skip
def test_the_value_of_a_secret_field_is_not_written_down(name):
    assert "hush7" not in str(safe({name: "hush7", "deep": [{name: {"a": "hush7"}}]}))
    assert str(safe_at(name, "hush7")).startswith(REDACTED)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("author", "Ada"), ("authority", "court"), ("authors", ["Ada"]), ("tokens", 17), ("max_tokens", 100),
        ("prompt_tokens", 5), ("cache_read_input_tokens", 9), ("usage_tokens_details", {"a": 1}), ("monkey", "x"),
        ("keyboard", "qwerty"), ("tokenizer", "bpe"), ("secretary", "Ada"), ("has_password", True), ("key", "a-1"),
        ("idempotency_key", "k-1"), ("auth_method", "card"), ("compass", "north"), ("token_type", "bearer"),
    ],
)  # fmt: skip
def test_what_only_sounds_like_a_secret_stays_readable(name, value):
    assert safe({name: value}) == {name: value}
    assert safe_at(name, value) == value


@pytest.mark.parametrize(
    "secret",
    [
        "Bearer abc123def456", "bearer eyABCdef.ghi-123", "Basic dXNlcjpwYXNz", "Basic QWxhZGRpbjpvcGVu==",
        "sk-proj-abcdef0123456789abcd", "sk_" + "live_51HabcDEF", "rk_" + "test_51HabcDEF", "AKIA" + "IOSFODNN7EXAMPLE",
        "ghp_" + "abcdefghij0123456789", "xoxb-" + "123456789-abcdef", "xoxp-" + "123456789-abcdef", PEM,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123",
    ],
)  # fmt: skip
def test_a_secret_in_the_middle_of_a_text_is_not_written_down(secret):
    written = safe({"note": f"please use {secret} for this"})["note"]
    assert secret not in written
    assert written.startswith(f"please use {REDACTED}")
    assert written.endswith("for this")


def test_a_password_in_an_address_is_not_written_down_and_the_host_is():
    written = safe("postgres://ada:s3cret@db.example:5432/x and https://example.org:8080/a@b")
    assert "s3cret" not in written
    assert "@db.example:5432/x and https://example.org:8080/a@b" in written


@pytest.mark.parametrize(
    "text",
    [
        "a Basic understanding of things", "Bearer certificates were sold", "the task-force-for-the-kitchen-roof",
        "sk-short", "see https://example.org/x@y", "mail ada@example.org", "ghp_", "AKIA", "eyJust a word",
    ],
)  # fmt: skip
def test_prose_stays_readable(text):
    assert safe(text) == text


def test_two_secrets_stay_two():
    assert safe("Bearer abc12345678") != safe("Bearer abc12345679")


def test_a_long_text_with_many_beginnings_takes_no_time():
    began_s = time.process_time()
    for text in ("Bearer " * 200_000, "-----BEGIN PRIVATE KEY-----" * 40_000, "://" * 300_000, "eyJ" * 300_000):
        safe(text)
    assert time.process_time() - began_s < 1
