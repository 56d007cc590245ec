"""Building the preload library, and what a user is told where that does not work."""

from __future__ import annotations

import pytest

from ackgap.errors import EnvironmentLacks
from ackgap.preload import build


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ACKGAP_CACHE", str(tmp_path / "cache"))
    build.library.cache_clear()
    yield
    build.library.cache_clear()


def test_it_is_built_once_and_kept(program, tmp_path, monkeypatch):
    program("cc", "apt-get install gcc libc6-dev")
    made = build.library()
    assert made.read_bytes().startswith(b"\x7fELF")
    build.library.cache_clear()
    monkeypatch.setattr(build, "_build", lambda *_: pytest.fail("built again"))
    assert build.library() == made
    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_without_a_compiler_the_message_says_what_to_install_or_to_use_instead(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(EnvironmentLacks, match="no C compiler") as raised:
        build.library()
    assert "apt-get install gcc" in raised.value.next_step
    assert "trace" in raised.value.next_step


def test_what_a_compiler_says_that_fails_is_handed_on(tmp_path, monkeypatch):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'stdio.h: no such file' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(EnvironmentLacks, match=r"could not be built: stdio\.h: no such file") as raised:
        build.library()
    assert raised.value.where == str(broken)
    assert not list((tmp_path / "cache").rglob("*.so"))
