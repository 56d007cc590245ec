"""What an expression of a program comes to, as far as constants, variables of the environment and joining go."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from ackgap.starting.facts import UNKNOWN, Value

__all__ = ["Resolver", "dotted_name", "environment_read"]

_READERS = frozenset({"os.environ.get", "os.getenv", "environ.get", "getenv", "os.environ.setdefault"})
_TABLES = frozenset({"os.environ", "environ"})
_SAME_TEXT = frozenset(
    {
        "rstrip",
        "lstrip",
        "strip",
        "removesuffix",
        "expanduser",
        "resolve",
        "absolute",
        "as_posix",
        "lower",
        "encode",
        "replace",
    }
)
_WRAPPERS = frozenset({"str", "Path", "pathlib.Path", "PurePath", "os.fspath", "os.path.expanduser", "os.path.abspath"})
_URL_CLASSES = frozenset({"URL", "httpx.URL", "yarl.URL", "SecretStr"})
_DEPTH = 12


def dotted_name(node: ast.expr) -> str:
    """Return a name with its dots; empty parts stand for what has none, so `f(x).g` is `.g`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted_name(node.value)}.{node.attr}"
    return ""


def environment_read(node: ast.AST) -> tuple[str, bool, ast.expr | None] | None:
    """Return the variable that an expression reads, whether it has to be set, and its default; None for another."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and dotted_name(node.value) in _TABLES:
        name = _constant(node.slice)
        return None if name is None else (name, True, None)
    if isinstance(node, ast.Call) and dotted_name(node.func) in _READERS and node.args:
        name = _constant(node.args[0])
        default = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg), None)
        return None if name is None else (name, False, default)
    return None


def _constant(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


class Resolver:
    """Finds out what expressions of one file come to.

    Args:
        tree: The file.
        settings: By attribute, the variable that a class of settings reads for it: those of the whole project.
    """

    def __init__(self, tree: ast.Module, settings: Mapping[str, Value]) -> None:
        self._settings = settings
        self._named: dict[str, ast.expr] = {}
        for target, value in _assignments(tree):
            if isinstance(target, ast.Name):
                self._named.setdefault(target.id, value)

    def value(self, node: ast.expr, depth: int = 0) -> Value:
        """Return what an expression comes to."""
        if depth > _DEPTH:
            return UNKNOWN
        if (read := environment_read(node)) is not None:
            name, _, default = read
            return Value(variable=name, text=None if default is None else self.value(default, depth + 1).text)
        match node:
            case ast.Constant(value=str(text)):
                return Value(text=text)
            case ast.Name(id=name) if name in self._named:
                return self.value(self._named[name], depth + 1)
            case ast.Attribute(attr=name) if name in self._settings:
                return self._settings[name]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _joined([self.value(left, depth + 1), self.value(right, depth + 1)])
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return _joined([self.value(left, depth + 1), Value(text="/"), self.value(right, depth + 1)])
            case ast.JoinedStr(values=parts):
                return _joined([self.value(part, depth + 1) for part in parts])
            case ast.FormattedValue(value=inner):
                return self.value(inner, depth + 1)
            case ast.BoolOp(op=ast.Or(), values=[first, *others]):
                return self._either(first, others, depth)
            case ast.Call():
                return self._call(node, depth)
        return UNKNOWN

    def _either(self, first: ast.expr, others: list[ast.expr], depth: int) -> Value:
        found = self.value(first, depth + 1)
        if found.variable and found.text is None:
            default = self.value(others[-1], depth + 1).text
            return Value(variable=found.variable, text=default, before=found.before, after=found.after)
        return found

    def _call(self, node: ast.Call, depth: int) -> Value:
        name = dotted_name(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_TEXT and name not in _WRAPPERS:
            return self.value(node.func.value, depth + 1)
        if name in _WRAPPERS | _URL_CLASSES and node.args:
            return self.value(node.args[0], depth + 1)
        if name in ("Path.home", "pathlib.Path.home"):
            return Value(text="~")
        if name == "os.path.join":
            parts = [self.value(argument, depth + 1) for argument in node.args]
            slashed = [item for part in parts for item in (Value(text="/"), part)][1:]
            return _joined(slashed)
        return UNKNOWN


def _joined(parts: list[Value]) -> Value:
    """Return what parts one after the other come to; what stands behind something unknown is not known."""
    variable = next((place for place, part in enumerate(parts) if part.variable), None)
    if variable is None:
        texts = [part.text for part in parts]
        return UNKNOWN if None in texts else Value(text="".join(text for text in texts if text is not None))
    before = [part.text for part in parts[:variable]]
    known: list[str] = []
    for part in parts[variable + 1 :]:
        if part.text is None or part.variable:
            break
        known.append(part.text)
    found = parts[variable]
    return Value(
        variable=found.variable,
        text=found.text,
        before="".join(text or "" for text in before) + found.before,
        after=found.after + "".join(known),
    )


def _assignments(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield target, node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield node.target, node.value
