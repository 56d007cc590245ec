"""Reads shell and JavaScript files: no syntax tree, only which variables and addresses they name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ackgap.starting.facts import SourceFacts, Variable

__all__ = ["SCRIPT_SUFFIXES", "facts_of_script"]

SCRIPT_SUFFIXES = (".sh", ".mjs", ".js", ".cjs", ".ts")
_JAVASCRIPT = re.compile(
    r"process\.env(?:\.([A-Za-z_]\w*)|\[['\"]([A-Za-z_]\w*)['\"]\])(?:\s*(?:\?\?|\|\|)\s*['\"`]([^'\"`]*)['\"`])?"
)
_SHELL = re.compile(r"\$(?:\{([A-Z_][A-Z0-9_]*)(:?[-?][^}]*)?\}|([A-Z_][A-Z0-9_]*))")
_TEXTS = re.compile(r"(?:'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"|`([^`\n]{1,200})`)")
_OWN = re.compile(r"^\s*(?:export\s+|readonly\s+)?([A-Z_][A-Z0-9_]*)=", re.MULTILINE)
_SHELLS_OWN = frozenset({"HOME", "PATH", "PWD", "USER", "SHELL", "TMPDIR", "IFS", "LANG", "RANDOM", "SECONDS"})


def facts_of_script(file: str, text: str) -> SourceFacts:
    """Return what a script says."""
    shell = file.endswith(".sh")
    variables = _of_shell(file, text) if shell else _of_javascript(file, text)
    return SourceFacts(
        file=file,
        variables=tuple(variables),
        strings=frozenset(next(filter(None, found), "") for found in _TEXTS.findall(text)),
        acts=True,
    )


def _of_javascript(file: str, text: str) -> Iterator[Variable]:
    for found in _JAVASCRIPT.finditer(text):
        yield Variable(
            name=found[1] or found[2], required=found[3] is None, default=found[3], file=file, line=_line(text, found)
        )


def _of_shell(file: str, text: str) -> Iterator[Variable]:
    own = set(_OWN.findall(text))
    for found in _SHELL.finditer(text):
        name, instead = found[1] or found[3], found[2] or ""
        if name in own or name in _SHELLS_OWN:
            continue
        has_default = instead.lstrip(":").startswith("-")
        default = instead.lstrip(":").removeprefix("-") if has_default else None
        yield Variable(
            name=name,
            required=not has_default,
            default=default if default and "$" not in default else None,
            file=file,
            line=_line(text, found),
        )


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start()) + 1
