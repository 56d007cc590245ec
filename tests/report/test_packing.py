from __future__ import annotations

import base64
import json
import zlib

from ackgap.report.packing import LONGEST_TEXT, Packer, _may_hold_secrets, inert_json
from ackgap.target.wire.secrets import _SECRET_WORDS

EVENT = {"kind": "attempt_received", "seq": 1, "attempt": 1, "path": "/tickets", "key": None, "payload": {}, "rule": ""}


def unpacked(packer, packed):
    """What a browser makes of it: primer and packed text are one deflate stream."""
    text = zlib.decompress(base64.b64decode(packer.primer) + base64.b64decode(packed), -15)
    return json.loads(text[packer.length :])


def test_what_is_packed_comes_out_again_whatever_the_primer():
    for sample in ([], [EVENT], [EVENT | {"seq": number, "path": str(number) * 90} for number in range(900)]):
        packer = Packer(sample)
        for rest in ({}, {"findings": [], "note": "\u2713 é"}):
            for history in ([], [EVENT], [EVENT] * 50):
                found = unpacked(packer, packer.packed(history, rest))
                assert found.pop("history") == [{k: v for k, v in EVENT.items() if k != "rule"}] * len(history)
                assert found == rest


def test_zero_and_nothing_are_kept_and_what_is_empty_is_left_out():
    packer = Packer()
    event = {"exit_code": 0, "offset": 0.0, "signal": None, "by": False, "tail": "", "headers": {}, "payload": {}}
    (found,) = unpacked(packer, packer.packed([event], {}))["history"]
    assert found == {"exit_code": 0, "offset": 0.0, "signal": None, "payload": {}}


def test_a_history_like_the_sample_takes_a_fraction_of_the_room():
    history = [EVENT | {"seq": number, "digest": f"{number * 7919:024x}"} for number in range(200)]
    packer = Packer(history)
    alone = Packer().packed(history, {})
    assert len(packer.packed([*history[:100], EVENT, *history[100:]], {})) < len(alone) / 4


def test_secrets_are_taken_out_by_name_and_by_looks():
    headers = {"Authorization": "Bearer abcdef0123456789", "Cookie": "session=81b2", "x-api-key": "k-123", "trace": "t"}
    told = {
        "output": "used sk_live_abcdefgh12345678 and https://ada:pass@host/x",
        "password": "hunter2",
        "max_tokens": 5,
    }
    packer = Packer()
    text = json.dumps(unpacked(packer, packer.packed([EVENT | {"headers": headers, "payload": told}], {"note": told})))
    for secret in ("abcdef0123456789", "81b2", "k-123", "sk_live_abcdefgh12345678", "ada:pass", "hunter2"):
        assert secret not in text, secret
        assert secret not in inert_json({"x": [headers, told]})
    assert '"trace": "t"' in text
    assert '"max_tokens": 5' in text


def test_nothing_that_sounds_or_looks_like_a_secret_is_let_through_unread():
    names = [*_SECRET_WORDS, "clientSecret", "sharedKey", "connectionString", "api-key", "signing_key", "accessToken"]
    looks = ["sk-abcdefghijklmnopqrstuv", "AKIA0123456789ABCDEF", "xoxb-12345678-abc", "Basic dXNlcjpwYXNz", "AIza_x"]
    for secret in [*({name: "v4lue"} for name in names), *looks]:
        assert _may_hold_secrets(json.dumps([EVENT, secret])), secret
    assert not _may_hold_secrets(json.dumps(EVENT))


def test_escapes_and_marks_of_direction_are_shown_and_not_obeyed():
    packer = Packer()
    evil = "\x1b]0;title\x07 \u202etxt.exe \u200b"
    found = unpacked(packer, packer.packed([EVENT | {"payload": {evil: evil}}], {}))["history"][0]["payload"]
    assert [*found] == ["\\x1b]0;title\\x07 \\u202etxt.exe \\u200b"] == [*found.values()]


def test_a_megabyte_of_text_is_cut_and_says_so_and_what_differs_still_differs():
    packer = Packer()
    long = ["a" * 2**20, "a" * (2**20 - 9000) + "b" + "a" * 8999]
    history = [EVENT | {"payload": text} for text in long]
    first, second = (event["payload"] for event in unpacked(packer, packer.packed(history, {}))["history"])
    assert first.startswith("a" * (LONGEST_TEXT // 2))
    assert "1,048,576 characters in all" in first
    assert len(first) < LONGEST_TEXT
    assert first != second


def test_nothing_in_an_overview_can_end_its_script():
    text = inert_json({"x": "</script><!--<script>&"})
    assert "<" not in text
    assert json.loads(text) == {"x": "</script><!--<script>&"}
