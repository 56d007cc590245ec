"""Operators on durable writes: left out, too late, too early, in the other order, torn."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ackgap.selfcheck.agent_source import Change, copied, statements_of
from ackgap.selfcheck.meaning import Deed, Meaning, call_name, own_nodes

__all__ = [
    "acknowledged_first",
    "autocommits",
    "commits_after_loop",
    "forgotten_commits",
    "late_commits",
    "non_atomic_writes",
    "split_transactions",
    "swapped_writes",
    "torn_writes",
]


def forgotten_commits(meaning: Meaning) -> Iterator[Change]:
    """Leave a durable write out."""
    for body in meaning.source.bodies:
        for statement in body:
            if meaning.is_write(statement):
                yield meaning.source.with_statements(statement, statement, [], "not written down")
            elif (acting := _noted_act(meaning, statement)) is not None:
                about = "done, and not written down"
                yield meaning.source.with_statements(statement, statement, [ast.Expr(acting)], about)


def late_commits(meaning: Meaning) -> Iterator[Change]:
    """Write down only once the next thing is done."""
    source = meaning.source
    for body in source.bodies:
        for n, statement in enumerate(body):
            if not meaning.is_write(statement):
                continue
            for later in range(n + 1, len(body)):
                if meaning.deeds(body[later]) - {Deed.LOOK}:
                    moved = [*body[n + 1 : later + 1], statement]
                    yield source.with_statements(statement, body[later], moved, "written down after the next thing")
                    break
            else:
                yield from _out_of_block(meaning, body, statement)


def _out_of_block(meaning: Meaning, body: Sequence[ast.stmt], statement: ast.stmt) -> Iterator[Change]:
    """Move a write that ends a block behind what follows on the block."""
    source = meaning.source
    block = source.parents[statement]
    if statement is not body[-1] or not isinstance(block, ast.If) or block.orelse or len(body) < 2:
        return
    around = next((each for each in source.bodies if block in each), [])
    if block not in around:
        return
    here = around.index(block)
    following = around[here + 1 : here + 2]
    if not following or not meaning.deeds(following[0]) - {Deed.LOOK}:
        return
    shorter = copied(block)
    assert isinstance(shorter, ast.If)
    shorter.body = shorter.body[:-1]
    about = "written down after the next step"
    yield source.with_statements(block, following[0], [shorter, following[0], statement], about)


def commits_after_loop(meaning: Meaning) -> Iterator[Change]:
    """Write down once a loop is over, instead of in each round."""
    source = meaning.source
    for loop in (node for node in ast.walk(source.tree) if isinstance(node, ast.For)):
        if not meaning.acts(loop):
            continue
        for n, statement in enumerate(loop.body):
            if meaning.is_write(statement) and meaning.acts(loop):
                shorter = copied(loop)
                assert isinstance(shorter, ast.For)
                del shorter.body[n]
                moved = [shorter, statement] if shorter.body else [statement]
                yield source.with_statements(loop, loop, moved, "written down once the loop is over")


def acknowledged_first(meaning: Meaning) -> Iterator[Change]:
    """Write down that something is done before it is done."""
    source = meaning.source
    for body in source.bodies:
        for n, statement in enumerate(body):
            if (acting := _noted_act(meaning, statement)) is not None:
                early = _with_placeholder(statement, acting)
                about = "written down as done before it is done"
                yield source.with_statements(statement, statement, [early, statement], about)
            elif _is_act(meaning, statement):
                noted = next((m for m in range(n + 1, len(body)) if meaning.is_write(body[m])), None)
                if noted is not None and not any(meaning.acts(each) for each in body[n + 1 : noted]):
                    early_statements = [*_placeholders(statement), *_without(statement, body[n + 1 : noted + 1])]
                    about = "written down as done before it is done"
                    new = [*early_statements, *_again(statement, body[n : noted + 1])]
                    yield source.with_statements(statement, body[noted], new, about)


def swapped_writes(meaning: Meaning) -> Iterator[Change]:
    """Let two things that follow each other, of which one is durable, come in the other order."""
    source = meaning.source
    for body in source.bodies:
        for first, second in pairwise(body):
            if _changed_store(first) is not None and _is_commit(second):
                yield source.with_statements(first, second, [second, first], "committed before it is changed")
                continue
            if not all(isinstance(each, ast.Expr | ast.Assign | ast.With | ast.For) for each in (first, second)):
                continue
            deeds = meaning.deeds(first), meaning.deeds(second)
            if Deed.WRITE not in deeds[0] | deeds[1] or not (deeds[0] and deeds[1]):
                continue
            if _binds(first) & _uses(second):
                continue
            if meaning.is_write(first) and meaning.acts(second):
                continue  # a late commit
            yield source.with_statements(first, second, [second, first], "in the other order")


def non_atomic_writes(meaning: Meaning) -> Iterator[Change]:
    """Write over a state file, instead of putting a new one in its place."""
    for first, last, path, text in _replacements(meaning):
        new = statements_of(f"with open({path}, 'w') as file:\n    file.write({text})")
        yield meaning.source.with_statements(first, last, new, "the state file is written over")


def torn_writes(meaning: Meaning) -> Iterator[Change]:
    """Write a state file in two halves."""
    for first, last, path, text in _replacements(meaning):
        new = statements_of(
            f"""
            with open({path}, 'w') as file:
                whole = {text}
                file.write(whole[:len(whole) // 2])
                file.flush()
                file.write(whole[len(whole) // 2:])
            """
        )
        yield meaning.source.with_statements(first, last, new, "the state file is written in two halves")


def split_transactions(meaning: Meaning) -> Iterator[Change]:
    """Commit between two changes that belong together."""
    source = meaning.source
    for body in source.bodies:
        for n, (first, second) in enumerate(pairwise(body)):
            owners = _changed_store(first), _changed_store(second)
            if owners[0] is not None and owners[0] == owners[1] and any(map(_is_commit, body[n + 2 :])):
                commit = statements_of(f"{owners[0]}.commit()")
                yield source.with_statements(first, second, [first, *commit, second], "committed in between")


def autocommits(meaning: Meaning) -> Iterator[Change]:
    """Let every statement be a transaction of its own."""
    source = meaning.source
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "sqlite3.connect":
            text = f"{ast.unparse(node)[:-1]}, isolation_level=None)"
            yield source.with_expression(node, text, "each statement is a transaction")


# ---------------------------------------------------------------------- parts


def _is_act(meaning: Meaning, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr | ast.Assign) and meaning.acts(statement)


def _noted_act(meaning: Meaning, statement: ast.stmt) -> ast.expr | None:
    """Return what acts, where one statement acts and writes down what came of it: `save({"ticket": post(...)})`."""
    call = _called(statement)
    if call is None or call_name(call) not in meaning.writing:
        return None
    return next(
        (_whole_act(meaning, node) for node in own_nodes(call) if node is not call and meaning.acts(node)), None
    )


def _whole_act(meaning: Meaning, node: ast.AST) -> ast.expr:
    """Return the outermost expression that is only there because of an act."""
    while isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.keyword):
        node = next(child for child in ast.iter_child_nodes(node) if meaning.acts(child))
    assert isinstance(node, ast.expr)
    return node


def _with_placeholder(statement: ast.stmt, acting: ast.expr) -> ast.stmt:
    whole, part = ast.unparse(statement), ast.unparse(acting)
    return statements_of(whole.replace(part, "None", 1))[0]


def _placeholders(statement: ast.stmt) -> list[ast.stmt]:
    """Return what gives the targets of an assignment a value beforehand."""
    if not isinstance(statement, ast.Assign):
        return []
    names = [ast.unparse(target) for target in statement.targets if isinstance(target, ast.Subscript)]
    return [each for name in names for each in statements_of(f"{name} = None")]


class _Without(ast.NodeTransformer):
    """Puts None where a name would be used, with whatever is read from it."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        root = node
        while isinstance(root, ast.Subscript | ast.Attribute | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        if isinstance(root, ast.Name) and root.id in self._names and isinstance(root.ctx, ast.Load):
            return ast.Constant(None)
        return super().generic_visit(node)


def _without(act: ast.stmt, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return statements as they can be done before the act: without what came of it."""
    names = {node.id for node in getattr(act, "targets", []) if isinstance(node, ast.Name)}
    return [_Without(names).visit(copied(each)) for each in statements]


def _again(statement: ast.stmt, noted: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """Return what is left to do after the early note: the act; and the note again, where it holds what came of it."""
    if isinstance(statement, ast.Assign) and any(_binds(statement) & _uses(each) for each in noted[1:]):
        return noted if isinstance(statement.targets[0], ast.Subscript) else [statement]
    return [statement]


def _binds(statement: ast.stmt) -> set[str]:
    return {
        node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {
        node.value.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    }


def _uses(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _replacements(meaning: Meaning) -> Iterator[tuple[ast.stmt, ast.stmt, str, str]]:
    """Yield where a new file is put in the place of a state file: the statements, the file, and what it will say."""
    for body in meaning.source.bodies:
        for n, statement in enumerate(body):
            path = _replaced_path(statement)
            if path is None or n == 0:
                continue
            written = body[n - 1]
            if isinstance(written, ast.With):
                if (text := _dumped(written)) is not None:
                    yield written, statement, path, text
            elif (call := _called(written)) is not None and call_name(call) == "write_text":
                yield written, statement, path, ast.unparse(call.args[0])


def _called(statement: ast.stmt) -> ast.Call | None:
    """Return the call that a statement is."""
    return statement.value if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None


def _replaced_path(statement: ast.stmt) -> str | None:
    call = _called(statement)
    if call is None:
        return None
    if ast.unparse(call.func) == "os.replace" and len(call.args) == 2:
        return ast.unparse(call.args[1])
    if isinstance(call.func, ast.Attribute) and call.func.attr == "replace" and len(call.args) == 1:
        return ast.unparse(call.args[0])
    return None


def _dumped(statement: ast.With) -> str | None:
    """Return what is written as JSON into the file that was opened."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "json.dump":
            return f"json.dumps({ast.unparse(node.args[0])})"
    return None


def _changed_store(statement: ast.stmt) -> str | None:
    """Return the connection on which a statement changes rows."""
    call = _called(statement)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "execute" or not call.args:
        return None
    text = call.args[0].value if isinstance(call.args[0], ast.Constant) else ""
    changes = isinstance(text, str) and text.lower().startswith(("insert", "update", "delete"))
    return ast.unparse(call.func.value) if changes else None


def _is_commit(statement: ast.stmt) -> bool:
    call = _called(statement)
    return call is not None and call_name(call) == "commit"
