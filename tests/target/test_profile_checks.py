from __future__ import annotations

import os
from pathlib import Path

import pytest

from ackgap.content import profile_names, targets_directory
from ackgap.errors import ProfileInvalid
from ackgap.target.profiles.checks import document_mistakes, read_document


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[[operations]]\nprice = inf\n", ": operations[0].price"),
        (b"price = nan\n", ": price"),
        (b'title = "a\\u0000b"\n', ": title"),
        (b"a = " + b"[" * 100_000, "deep"),
        (b"a = " + b"[" * 80 + b"]" * 80, "nested more than"),
        (b"a = " + b"1" * 5_000, "not TOML"),
        (b"a = \xff", "line 1"),
        (b"ok = 1\na = = 2\n", "line 2, column 5"),
        (b"[sources]\ndate = 2026-01-01\n", "write it in quotes"),
    ],
)
def test_a_file_that_cannot_be_a_profile_is_refused_with_its_place(tmp_path: Path, text: bytes, said: str) -> None:
    file = tmp_path / "desk.toml"
    file.write_bytes(text)
    with pytest.raises(ProfileInvalid) as caught:
        read_document(file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "desk.toml"
    file.write_bytes(b'\xef\xbb\xbfname = "desk"\r\n')
    assert read_document(file) == {"name": "desk"}


def test_a_named_pipe_is_no_profile_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "desk.toml")
    with pytest.raises(ProfileInvalid, match="named pipe"):
        read_document(tmp_path / "desk.toml")


@pytest.mark.parametrize(
    ("document", "key"),
    [
        (
            {"errors": {"invalid": {"status": 400, "headers": {"X-Why": "a\r\nSet-Cookie: b"}}}},
            "errors.invalid.headers",
        ),
        ({"errors": {"invalid": {"headers": {"X Why": "a"}}}}, "errors.invalid.headers"),
        ({"errors": {"invalid": {"headers": {"X-Why": "\u20ac"}}}}, "errors.invalid.headers.X-Why"),
        ({"operations": [{"name": "file", "answer": {"headers": {"a": "\0"}}}]}, "operations[file].answer.headers.a"),
    ],
)
def test_headers_that_http_cannot_carry_are_told_by_key(document: dict, key: str) -> None:
    ((where, _, allowed),) = document_mistakes(document)
    assert where.startswith(key)
    assert allowed


def test_the_body_of_an_answer_may_have_any_keys() -> None:
    body = {"identity": ["x"], "headers": {"a b": "\n"}}
    assert list(document_mistakes({"errors": {"invalid": {"body": body}}})) == []


@pytest.mark.parametrize("name", profile_names())
def test_the_shipped_profiles_have_no_such_mistake(name: str) -> None:
    assert list(document_mistakes(read_document(targets_directory() / f"{name}.toml"))) == []
