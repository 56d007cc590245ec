"""Operators on what an agent does with answers and errors: swallowed, tried again blindly, not looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ackgap.selfcheck.agent_source import Change, copied, statements_of
from ackgap.selfcheck.meaning import Meaning, constant

__all__ = ["blind_retries", "caught_and_continued", "ignored_conflicts", "swallowed_errors", "unchecked_answers"]

_LOOP = """
    for left in (1, 0):
        try:
            pass
        except OSError:
            if not left:
                raise
    """
_CONFLICTS = frozenset({400, 409, 412, 422})


def swallowed_errors(meaning: Meaning) -> Iterator[Change]:
    """Go on after an error as if nothing had happened."""
    source = meaning.source
    for body in source.bodies:
        for statement in body:
            if not isinstance(statement, ast.Expr | ast.Assign) or not meaning.acts(statement) or _is_all(statement):
                continue
            handled = "pass" if isinstance(statement, ast.Expr) else f"{ast.unparse(statement.targets[0])} = None"
            [attempt] = statements_of(f"try:\n    pass\nexcept Exception:\n    {handled}")
            assert isinstance(attempt, ast.Try)
            attempt.body = [statement]
            yield source.with_statements(statement, statement, [attempt], "an error is swallowed")


def caught_and_continued(meaning: Meaning) -> Iterator[Change]:
    """Go on with the next piece of work after an error."""
    source = meaning.source
    for loop in (node for node in ast.walk(source.tree) if isinstance(node, ast.For)):
        if meaning.acts(loop) and isinstance(source.parents[loop], ast.Module | ast.FunctionDef):
            [attempt] = statements_of("try:\n    pass\nexcept Exception as error:\n    print(error)")
            assert isinstance(attempt, ast.Try)
            attempt.body = loop.body
            changed = copied(loop)
            assert isinstance(changed, ast.For)
            changed.body = [attempt]
            yield source.with_statements(loop, loop, [changed], "after an error the next one is taken")


def blind_retries(meaning: Meaning) -> Iterator[Change]:
    """Try again after an error, without asking what has become of the first attempt."""
    source = meaning.source
    for body in source.bodies:
        for statement in body:
            if not isinstance(statement, ast.Expr | ast.Assign | ast.Return) or not meaning.acts(statement):
                continue
            if meaning.sends_key(statement) or _is_all(statement):
                continue  # under its key a repeat does no harm
            [loop] = statements_of(_LOOP)
            assert isinstance(loop, ast.For)
            attempt = loop.body[0]
            assert isinstance(attempt, ast.Try)
            attempt.body = [statement, *([] if isinstance(statement, ast.Return) else [ast.Break()])]
            yield source.with_statements(statement, statement, [loop], "tried again after an error")


def ignored_conflicts(meaning: Meaning) -> Iterator[Change]:
    """Take no notice of an answer that says that it has been done, or is being done."""
    source = meaning.source
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
            continue
        compared = node.test
        if constant(compared.comparators[0]) not in _CONFLICTS or "code" not in ast.unparse(compared.left):
            continue
        unequal = isinstance(compared.ops[0], ast.NotEq)
        yield source.with_expression(compared, "True" if unequal else "False", "a conflict is an error like any other")


def unchecked_answers(meaning: Meaning) -> Iterator[Change]:
    """Leave out the look at an answer's status."""
    source = meaning.source
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "raise_for_status":
            yield source.with_expression(node, ast.unparse(node.func.value), "the status is not looked at")


def _is_all(statement: ast.stmt) -> bool:
    """Whether a statement is the whole of the work, such as `main()`."""
    return ast.unparse(statement) == "main()"
