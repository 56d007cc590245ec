"""Which local files an installer's arguments name, and that what is in them counts."""

from __future__ import annotations

import os

import pytest

from ackgap.environments.contents import contents_of


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("./project",), ["project"]),
        (("./project[extra] ; python_version > '3'",), ["project"]),
        (("-e", "./project"), ["project"]),
        (("-e./project",), ["project"]),
        (("wheel.whl",), ["wheel.whl"]),
        (("tool @ file:wheel.whl#sha256=0",), ["wheel.whl"]),
        (("-c", "limits.txt", "idna"), ["limits.txt"]),
        (("--constraint=limits.txt",), ["limits.txt"]),
        (("--find-links", "project", "--no-index"), ["project"]),
        (("project",), []),
        (("idna==3.4", "--index-url", "https://index.example/simple"), []),
        (("./nothing",), []),
    ],
)
def test_paths_are_found_where_an_installer_finds_them(tmp_path, arguments, named):
    (tmp_path / "project").mkdir()
    for name in ("wheel.whl", "limits.txt"):
        (tmp_path / name).write_text(name)
    assert list(contents_of(arguments, tmp_path)) == [str(tmp_path / name) for name in named]


def test_the_digest_of_a_folder_changes_with_names_and_contents_and_not_with_what_a_build_leaves(tmp_path):
    project = tmp_path / "project"
    (project / "package").mkdir(parents=True)
    (project / "package" / "a.py").write_text("1")

    def digest() -> str:
        return contents_of(("./project",), tmp_path)[str(project)]

    seen = {digest()}
    (project / "build").mkdir()
    (project / "build" / "a.py").write_text("1")
    (project / "package" / "__pycache__").mkdir()
    (project / "package" / "__pycache__" / "a.pyc").write_text("1")
    os.mkfifo(project / "pipe")
    assert {digest()} == seen
    (project / "package" / "a.py").write_text("2")
    seen.add(digest())
    (project / "package" / "a.py").rename(project / "package" / "b.py")
    seen.add(digest())
    assert len(seen) == 3
