"""Operators on what an agent asks or remembers before it acts: forgotten, asked of the wrong place, too wide."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ackgap.selfcheck.agent_source import Change
from ackgap.selfcheck.meaning import Deed, Meaning, call_name, constant

__all__ = ["dropped_guards", "early_lookups", "forgotten_lookups", "forgotten_states", "widened_lookups"]

_FRESH_TO_LAGGING = (("/v1/charges?customer=cus_aurelia&limit=100", "/v1/charges/search?query=customer:'cus_aurelia'"),)
"""Lists that are never behind, and searches for the same that may be."""


def forgotten_lookups(meaning: Meaning) -> Iterator[Change]:
    """Take it for granted that nothing is there."""
    source = meaning.source
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or meaning.deed(node) is not Deed.LOOK or call_name(node) == "urlopen":
            continue
        if any(isinstance(each, ast.Call) and meaning.deed(each) is Deed.LOOK for each in source.above(node)):
            continue
        whole: ast.expr = node
        nothing = "None"
        while isinstance(parent := source.parents[whole], ast.Subscript | ast.Attribute) and parent.value is whole:
            whole = parent
            if isinstance(parent, ast.Subscript) and constant(parent.slice) in ("items", "data", "results"):
                nothing = "[]"
                break
        yield source.with_expression(whole, nothing, "not looked whether it is there")


def early_lookups(meaning: Meaning) -> Iterator[Change]:
    """Look where what was just made is found only later."""
    for node in ast.walk(meaning.source.tree):
        for fresh, lagging in _FRESH_TO_LAGGING:
            if constant(node) == fresh and isinstance(node, ast.Constant):
                about = "looked for where new things are found only later"
                yield meaning.source.with_expression(node, repr(lagging), about)


def widened_lookups(meaning: Meaning) -> Iterator[Change]:
    """Look for more than what is about to be made, and take the first of it."""
    source = meaning.source
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant | ast.JoinedStr) and not isinstance(source.parents[node], ast.JoinedStr):
            text = ast.unparse(node)
            wider = re.sub(r"\?[a-z_]+=[^&'\"]*&", "?", text, count=1)
            if wider != text and "/" in text and "limit" not in text:
                yield source.with_expression(node, wider, "looked for with one condition less")
        if isinstance(node, ast.Call) and meaning.deed(node) is Deed.LOOK:
            named = [each for each in node.keywords if each.arg not in (None, "params", "timeout", "headers")]
            if len(named) > 1:
                fewer = [each for each in node.keywords if each is not named[0]]
                text = ast.unparse(ast.Call(func=node.func, args=node.args, keywords=fewer))
                yield source.with_expression(node, text, "looked for with one condition less")


def dropped_guards(meaning: Meaning) -> Iterator[Change]:
    """Act without asking one's own records whether it is done."""
    source = meaning.source
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.If) or meaning.deeds(node.test) or isinstance(node.test, ast.Constant):
            continue
        if _is_main(node) or _is_parameter_check(meaning, node):
            continue
        if all(meaning.sends_key(each) for each in node.body if meaning.acts(each)) and not _goes_on_to_act(
            meaning, node
        ):
            continue  # under its key a repeat does no harm
        if any(meaning.acts(each) for each in node.body) and not node.orelse:
            yield source.with_expression(node.test, "True", "done whatever the records say")
        elif (
            isinstance(node.body[-1], ast.Return | ast.Continue)
            and len(node.body) == 1
            and _goes_on_to_act(meaning, node)
        ):
            yield source.with_expression(node.test, "False", "done whatever the records say")


def forgotten_states(meaning: Meaning) -> Iterator[Change]:
    """Begin each life from nothing, as if the state file could not be read."""
    source = meaning.source
    for function in source.functions.values():
        for node in ast.walk(function):
            test = node.test if isinstance(node, ast.If | ast.IfExp) else None
            if test is None or "exists" not in ast.unparse(test) or "load" not in ast.unparse(function):
                continue
            negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
            yield source.with_expression(test, "True" if negated else "False", "what was kept is not read")


def _is_main(node: ast.If) -> bool:
    return "__name__" in ast.unparse(node.test)


def _is_parameter_check(meaning: Meaning, node: ast.If) -> bool:
    """Whether a test is about what a function was given, such as `if key is not None`, and not about records."""
    function = meaning.source.function_of(node)
    if function is None:
        return False
    given = {argument.arg for argument in function.args.args}
    test = node.test
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id in given
        and isinstance(test.ops[0], ast.Is | ast.IsNot)
    )


def _goes_on_to_act(meaning: Meaning, node: ast.If) -> bool:
    around = next((each for each in meaning.source.bodies if node in each), [])
    function = meaning.source.function_of(node)
    calls_argument = function is not None and meaning.calls_argument(function) is not None
    return calls_argument or any(meaning.acts(each) for each in around[around.index(node) + 1 :])
