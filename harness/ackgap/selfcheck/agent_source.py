"""AgentSource: the text of an agent and its tree, and changes of it that leave every other line as it was."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = ["AgentSource", "Change", "Function", "copied", "expression", "statements_of"]

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of an agent.

    Attributes:
        line: Where, in the text as it was.
        last_line: Where the statements that were changed end.
        about: What was done, in a few words.
        text: The whole text as it is now.
    """

    line: int
    last_line: int
    about: str
    text: str


def copied(node: ast.stmt) -> ast.stmt:
    """Return a statement of its own that says the same."""
    return ast.parse(ast.unparse(node)).body[0]


def expression(text: str) -> ast.expr:
    """Return what an expression's text means."""
    return ast.parse(text, mode="eval").body


def statements_of(text: str) -> list[ast.stmt]:
    """Return the statements of a text."""
    return ast.parse(textwrap.dedent(text)).body


class AgentSource:
    """The text of an agent and its tree.

    Args:
        text: A Python module.

    Raises:
        SyntaxError: It is none.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each node is part of."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Functions of the module and methods of its classes, by name."""
        return {node.name: node for node in ast.walk(self.tree) if isinstance(node, Function)}

    @cached_property
    def bodies(self) -> tuple[list[ast.stmt], ...]:
        """Every list of statements that are done one after the other."""
        found = []
        for node in ast.walk(self.tree):
            for field in ("body", "orelse", "finalbody"):
                body = getattr(node, field, None)
                if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                    found.append(body)
        return tuple(found)

    @cached_property
    def imported(self) -> frozenset[str]:
        """Modules that the text imports as a whole."""
        return frozenset(
            alias.name
            for node in self.tree.body
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.asname is None
        )

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what a node is part of, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function_of(self, node: ast.AST) -> Function | None:
        """Return the function that a node is in."""
        return next((each for each in self.above(node) if isinstance(each, Function)), None)

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement that a node is in, or the node where it is one."""
        found = (
            node
            if isinstance(node, ast.stmt)
            else next(each for each in self.above(node) if isinstance(each, ast.stmt))
        )
        assert isinstance(found, ast.stmt)
        return found

    # ----------------------------------------------------------------- changes

    def with_expression(self, node: ast.expr, new: str, about: str, *, imports: Sequence[str] = ()) -> Change:
        """Return the change that has another expression in the place of one."""
        lines = self.text.encode().splitlines(keepends=True)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
        after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
        statement = self.statement_of(node)
        return self._change(statement, statement, about, (before + new.encode() + after).decode(), imports)

    def with_statements(
        self, first: ast.stmt, last: ast.stmt, new: Sequence[ast.stmt], about: str, *, imports: Sequence[str] = ()
    ) -> Change:
        """Return the change that has other statements in the place of those from one to another of the same list."""
        begins, ends = _begin(first), last.end_lineno
        assert ends is not None
        lines = self.text.splitlines(keepends=True)
        indent = " " * first.col_offset
        written = "".join(f"{textwrap.indent(ast.unparse(each), indent)}\n" for each in new or [ast.Pass()])
        text = "".join(lines[: begins - 1]) + written + "".join(lines[ends:])
        return self._change(first, last, about, text, imports)

    def with_line_before(self, statement: ast.stmt, line: str) -> str:
        """Return the text with a line before a statement."""
        lines = self.text.splitlines(keepends=True)
        begins = _begin(statement)
        return "".join([*lines[: begins - 1], f"{' ' * statement.col_offset}{line}\n", *lines[begins - 1 :]])

    def _change(self, first: ast.stmt, last: ast.stmt, about: str, text: str, imports: Sequence[str]) -> Change:
        missing = [name for name in imports if name not in self.imported]
        if missing:
            begin = next(node.lineno for node in self.tree.body if not _is_preamble(node))
            lines = text.splitlines(keepends=True)
            text = "".join([*lines[: begin - 1], *(f"import {name}\n" for name in missing), *lines[begin - 1 :]])
        ast.parse(text)  # what cannot be read would look like an agent that fails
        assert last.end_lineno is not None
        return Change(line=_begin(first), last_line=last.end_lineno, about=about, text=text)


def _begin(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _is_preamble(node: ast.stmt) -> bool:
    """Whether a statement has to stay before every import: the docstring, and what concerns the whole module."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
