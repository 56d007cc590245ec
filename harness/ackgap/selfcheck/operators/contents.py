"""Operators on what is filed: made anew instead of read from the record, so that nobody has approved it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ackgap.selfcheck.agent_source import Change
from ackgap.selfcheck.meaning import Meaning, call_name

__all__ = ["bypassed_records", "remade_contents"]


def remade_contents(meaning: Meaning) -> Iterator[Change]:
    """Make what is filed anew, where it was kept: it is no longer what a person approved."""
    source = meaning.source
    for made in (node for node in ast.walk(source.tree) if isinstance(node, ast.Assign)):
        target = made.targets[0]
        if not isinstance(target, ast.Subscript) or not meaning.acts(made.value):
            continue
        kept = ast.unparse(target)
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load) or ast.unparse(node) != kept:
                continue
            if source.function_of(node) is source.function_of(made) and not _is_printed(meaning, node):
                yield source.with_expression(node, ast.unparse(made.value), "made anew instead of read from the record")


def bypassed_records(meaning: Meaning) -> Iterator[Change]:
    """Do a step past what keeps its result."""
    source = meaning.source
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        function = source.functions.get(call_name(node))
        name = meaning.calls_argument(function) if function is not None else None
        if function is None or name is None:
            continue
        place = [argument.arg for argument in function.args.args].index(name)
        if place < len(node.args):
            yield source.with_expression(node, f"({ast.unparse(node.args[place])})()", "done past the record")


def _is_printed(meaning: Meaning, node: ast.AST) -> bool:
    return any(isinstance(each, ast.Call) and call_name(each) == "print" for each in meaning.source.above(node))
