"""Reads a Python file by its syntax tree; nothing of it is run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from ackgap.starting.facts import UNKNOWN, Call, Entry, SourceFacts, Value, Variable
from ackgap.starting.tools import tools_in
from ackgap.starting.values import Resolver, dotted_name, environment_read

__all__ = ["facts_of", "parsed", "settings_of"]

_NO_SERVICE = ("w3.org", "json-schema.org", "schema.org", "example.com", "example.org", "python.org", "localhost.test")
_SETTINGS = frozenset({"BaseSettings", "pydantic_settings.BaseSettings"})
_NOT_ACTING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign)


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree, None where the text is no Python that this interpreter can read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in somebody else's strings
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def settings_of(tree: ast.Module) -> dict[str, Value]:
    """Return by attribute the variables that pydantic's settings classes of a file read."""
    found: dict[str, Value] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(dotted_name(base) in _SETTINGS for base in node.bases):
            for field, name, value in _settings_fields(node):
                default = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
                found[field] = Value(variable=name, text=default)
    return found


def _settings_fields(node: ast.ClassDef) -> Iterator[tuple[str, str, ast.expr | None]]:
    """Yield field, variable and default of a class of settings."""
    prefix = ""
    for inner in ast.walk(node):
        if isinstance(inner, ast.keyword) and inner.arg == "env_prefix" and isinstance(inner.value, ast.Constant):
            prefix = str(inner.value.value)
        if isinstance(inner, ast.Dict):
            for key, value in zip(inner.keys, inner.values, strict=True):
                if getattr(key, "value", None) == "env_prefix":
                    prefix = str(getattr(value, "value", ""))
        if isinstance(inner, ast.Assign) and any(dotted_name(target) == "env_prefix" for target in inner.targets):
            prefix = str(getattr(inner.value, "value", ""))
    for inner in node.body:
        if (
            isinstance(inner, ast.AnnAssign)
            and isinstance(inner.target, ast.Name)
            and inner.target.id != "model_config"
        ):
            yield inner.target.id, (prefix + inner.target.id).upper(), _default_of(inner.value)


def _default_of(value: ast.expr | None) -> ast.expr | None:
    """Return the default in `Field("...")` or `Field(default="...")`."""
    if isinstance(value, ast.Call) and dotted_name(value.func).rpartition(".")[2] == "Field":
        named = next((keyword.value for keyword in value.keywords if keyword.arg == "default"), None)
        first = value.args[0] if value.args else named
        return None if isinstance(first, ast.Constant) and first.value is ... else first
    return value


def facts_of(file: str, tree: ast.Module, settings: Mapping[str, Value]) -> SourceFacts:
    """Return what a file says.

    Args:
        file: Its path below the project.
        tree: Its syntax tree.
        settings: By attribute, what classes of settings of the project read.
    """
    resolver = Resolver(tree, settings)
    documents = _docstrings(tree)
    defaults = {id(inner) for node in ast.walk(tree) if (read := environment_read(node)) for inner in _below(read[2])}
    calls = tuple(_calls(file, tree, resolver))
    return SourceFacts(
        file=file,
        imports=frozenset(_imports(file, tree)),
        variables=tuple(_variables(file, tree, resolver)),
        calls=calls,
        entries=tuple(_entries(file, tree, resolver)),
        strings=frozenset(text for text, node in _texts(tree) if id(node) not in documents),
        addresses=tuple(_addresses(file, tree, documents | defaults)),
        guarded=any(_is_guard(node) for node in tree.body),
        acts=any(_acts(node) for node in tree.body),
        functions=frozenset(
            node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ),
        arguments=_looks_at_arguments(tree, calls),
        tools=tuple(tools_in(tree)),
    )


def _imports(file: str, tree: ast.Module) -> Iterator[str]:
    package = file.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            if module:
                yield module
            yield from (f"{module}.{alias.name}" if module else alias.name for alias in node.names)


def _variables(file: str, tree: ast.Module, resolver: Resolver) -> Iterator[Variable]:
    alternatives = {
        id(node.values[0]): node.values[-1]
        for node in ast.walk(tree)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)
    }
    compared = dict(_comparisons(tree, resolver))
    for node in ast.walk(tree):
        if (read := environment_read(node)) is not None:
            name, required, default = read
            instead = default if default is not None else alternatives.get(id(node))
            yield Variable(
                name=name,
                required=required,
                default=resolver.value(instead).text if instead is not None else None,
                compared=compared.get(name, ""),
                file=file,
                line=getattr(node, "lineno", 0),
            )
        elif isinstance(node, ast.ClassDef) and any(dotted_name(base) in _SETTINGS for base in node.bases):
            for _, variable, value in _settings_fields(node):
                text = resolver.value(value).text if value is not None else None
                yield Variable(name=variable, required=value is None, default=text, file=file, line=node.lineno)


def _comparisons(tree: ast.Module, resolver: Resolver) -> Iterator[tuple[str, str]]:
    """Yield variables that are compared with a constant, each with that constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = resolver.value(node.left), node.comparators[0]
            inside = right.elts[0] if isinstance(right, ast.Tuple | ast.List | ast.Set) and right.elts else right
            text = resolver.value(inside).text
            if left.variable and text and isinstance(node.ops[0], ast.Eq | ast.In):
                yield left.variable, text


def _calls(file: str, tree: ast.Module, resolver: Resolver) -> Iterator[Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := dotted_name(node.func)):
            yield Call(
                name=name,
                arguments=tuple(resolver.value(argument) for argument in node.args),
                keywords={word.arg: resolver.value(word.value) for word in node.keywords if word.arg},
                receiver=resolver.value(node.func.value) if isinstance(node.func, ast.Attribute) else UNKNOWN,
                file=file,
                line=node.lineno,
            )


def _entries(file: str, tree: ast.Module, resolver: Resolver) -> Iterator[Entry]:
    def entry(key: str, value: ast.expr) -> Entry:
        return Entry(key=key, value=resolver.value(value), file=file, line=value.lineno)

    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield entry(key.value, value)
        elif isinstance(node, ast.keyword) and node.arg:
            yield entry(node.arg, node.value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if name := dotted_name(target):
                    yield entry(name, node.value)


def _texts(tree: ast.Module) -> Iterator[tuple[str, ast.Constant]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node


def _docstrings(tree: ast.Module) -> frozenset[int]:
    """Return the nodes of texts that nothing is done with."""
    return frozenset(
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _below(node: ast.expr | None) -> Iterator[ast.AST]:
    return ast.walk(node) if node is not None else iter(())


def _addresses(file: str, tree: ast.Module, but: frozenset[int] | set[int]) -> Iterator[Entry]:
    defaults = _defaults_elsewhere(tree)
    for text, node in _texts(tree):
        if id(node) in but or id(node) in defaults or not text.startswith(("http://", "https://")):
            continue
        try:
            host = urlsplit(text).hostname or ""
        except ValueError:
            continue
        if host and "." in host + ("." if host == "localhost" else "") and not host.endswith(_NO_SERVICE):
            yield Entry(key=host, value=Value(text=text), file=file, line=node.lineno)


def _defaults_elsewhere(tree: ast.Module) -> set[int]:
    """Return the constants that stand for a variable: behind `or`, and in a class of settings."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and environment_read(node.values[0]):
            found |= {id(inner) for inner in ast.walk(node.values[-1])}
        elif isinstance(node, ast.ClassDef) and any(dotted_name(base) in _SETTINGS for base in node.bases):
            found |= {id(inner) for inner in ast.walk(node)}
    return found


def _is_guard(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If):
        return False
    names = {dotted_name(inner) for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
    texts = {inner.value for inner in ast.walk(node.test) if isinstance(inner, ast.Constant)}
    return "__name__" in names and "__main__" in texts


def _acts(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Await)
    return not isinstance(node, (*_NOT_ACTING, ast.AnnAssign)) and not _is_guard(node) and not _only_imports(node)


def _only_imports(node: ast.stmt) -> bool:
    """Whether a statement only chooses what to import, as `if TYPE_CHECKING:` and `try: import ...` do."""
    inner = [part for part in ast.walk(node) if isinstance(part, ast.stmt) and part is not node]
    return isinstance(node, ast.If | ast.Try | ast.With) and all(
        isinstance(part, ast.Import | ast.ImportFrom | ast.Pass | ast.Assign | ast.Raise) for part in inner
    )


def _looks_at_arguments(tree: ast.Module, calls: tuple[Call, ...]) -> bool:
    """Whether the program cannot do without arguments, as far as that shows."""
    for call in calls:
        if call.last == "add_argument" and call.arguments:
            first = call.arguments[0].text or "-"
            optional = {"nargs", "default"} & call.keywords.keys() or first.startswith("-")
            if not optional or "required" in call.keywords:
                return True
    return any(
        isinstance(node, ast.Subscript)
        and dotted_name(node.value) == "sys.argv"
        and isinstance(node.slice, ast.Constant)
        for node in ast.walk(tree)
    )
