"""Operators on idempotency keys: gone, made from what is sent, or another one each time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ackgap.selfcheck.agent_source import AgentSource, Change
from ackgap.selfcheck.meaning import KEY_NAMES, KEY_PARAMETERS, Meaning, call_name, constant, is_none

__all__ = ["attempt_keys", "dropped_keys", "payload_keys", "random_keys", "time_keys"]


@dataclass(frozen=True, slots=True)
class _Site:
    """Where a key is given: the expression, and what is sent along with it."""

    key: ast.expr
    sent: ast.expr | None
    entry: ast.Dict | None = None


def dropped_keys(meaning: Meaning) -> Iterator[Change]:
    """Leave a key out."""
    source = meaning.source
    for site in _sites(meaning):
        parent = source.parents[site.key]
        if site.entry is not None:
            yield from _without_entry(source, site.entry, site.key)
        elif isinstance(parent, ast.Call | ast.keyword) and _may_be_none(meaning, site.key):
            yield source.with_expression(site.key, "None", "no key")
        elif isinstance(parent, ast.Assign):
            yield source.with_statements(parent, parent, [], "no key")
    for node in (each for each in ast.walk(source.tree) if isinstance(each, ast.Dict)):
        for name, value in zip(node.keys, node.values, strict=True):
            if _names_key(name) and _is_parameter(meaning, value):
                yield from _without_entry(source, node, value)


def payload_keys(meaning: Meaning) -> Iterator[Change]:
    """Make a key from what is sent."""
    for site in _sites(meaning):
        if site.sent is not None:
            sent = ast.unparse(site.sent)
            text = f"hashlib.sha256(json.dumps({sent}).encode()).hexdigest()"
            yield _with_key(meaning, site, text, "the key is a digest of what is sent", "hashlib", "json")


def random_keys(meaning: Meaning) -> Iterator[Change]:
    """Make a new random key for each attempt."""
    yield from _each(meaning, "str(uuid.uuid4())", "a new random key for each attempt", "uuid")


def time_keys(meaning: Meaning) -> Iterator[Change]:
    """Make a key from the time of the attempt."""
    yield from _each(meaning, "str(time.time_ns())", "the time of the attempt is the key", "time")


def attempt_keys(meaning: Meaning) -> Iterator[Change]:
    """Make the process that tries part of a key."""
    for site in _sites(meaning):
        text = f"f'{{os.getpid()}}-' + ({ast.unparse(site.key)})"
        yield _with_key(meaning, site, text, "the process that tries is part of the key", "os")


def _each(meaning: Meaning, text: str, about: str, module: str) -> Iterator[Change]:
    for site in _sites(meaning):
        yield _with_key(meaning, site, text, about, module)


def _with_key(meaning: Meaning, site: _Site, text: str, about: str, *imports: str) -> Change:
    source = meaning.source
    if '"' in _constant_text(site.key):  # a structured string, as the IETF draft has it
        text = f"'\"' + {text.replace(ast.unparse(site.key), ast.unparse(site.key) + '[1:-1]')} + '\"'"
    return source.with_expression(site.key, text, about, imports=imports)


def _constant_text(key: ast.expr) -> str:
    return "".join(str(node.value) for node in ast.walk(key) if isinstance(node, ast.Constant))


def _sites(meaning: Meaning) -> Iterator[_Site]:
    """Yield where keys are made: where a call hands one over; in headers only where none was handed over."""
    for node in ast.walk(meaning.source.tree):
        if isinstance(node, ast.Call):
            yield from _handed_over(meaning, node)
        elif isinstance(node, ast.Dict):
            for name, value in zip(node.keys, node.values, strict=True):
                if _names_key(name) and not _is_parameter(meaning, value):
                    yield _Site(value, _sent_nearby(meaning, node), entry=node)
        elif isinstance(node, ast.Assign) and _sets_key(node) and not _is_parameter(meaning, node.value):
            yield _Site(node.value, _sent_nearby(meaning, node))


def _handed_over(meaning: Meaning, call: ast.Call) -> Iterator[_Site]:
    function = meaning.source.functions.get(call_name(call))
    if function is not None and meaning.acts(call):
        names = [argument.arg for argument in function.args.args]
        for name, value in zip(names, call.args, strict=False):
            if name in KEY_PARAMETERS and constant(value) != "" and not is_none(value):
                yield _Site(value, meaning.body_argument(call))
    for keyword in call.keywords:
        if keyword.arg is not None and (
            keyword.arg in KEY_NAMES or (function is not None and keyword.arg in KEY_PARAMETERS)
        ):
            yield _Site(keyword.value, meaning.body_argument(call))


def _names_key(node: ast.expr | None) -> bool:
    return str(constant(node)).lower() in KEY_NAMES


def _sets_key(node: ast.Assign) -> bool:
    target = node.targets[0]
    return isinstance(target, ast.Subscript) and _names_key(target.slice)


def _is_parameter(meaning: Meaning, node: ast.expr) -> bool:
    """Whether a key was handed over: then it is made where it was handed over."""
    function = meaning.source.function_of(node)
    if function is None or not isinstance(node, ast.Name):
        return False
    return node.id in {argument.arg for argument in function.args.args}


def _may_be_none(meaning: Meaning, key: ast.expr) -> bool:
    """Whether the function that a key is handed to can do without: it asks whether there is one."""
    call = next(each for each in meaning.source.above(key) if isinstance(each, ast.Call))
    function = meaning.source.functions.get(call_name(call))
    return function is None or "is not None" in ast.unparse(function)


def _sent_nearby(meaning: Meaning, node: ast.AST) -> ast.expr | None:
    """Return what is sent under a key: the body that the function around it was given, or sends."""
    function = meaning.source.function_of(node)
    if function is None:
        return None
    for name in (argument.arg for argument in function.args.args):
        if name in ("body", "form", "payload", "data"):
            return ast.Name(id=name, ctx=ast.Load())
    return None


def _without_entry(source: AgentSource, entry: ast.Dict, key: ast.expr) -> Iterator[Change]:
    kept = [(name, value) for name, value in zip(entry.keys, entry.values, strict=True) if value is not key]
    shorter = ast.Dict(keys=[name for name, _ in kept], values=[value for _, value in kept])
    yield source.with_expression(entry, ast.unparse(shorter), "no key")
