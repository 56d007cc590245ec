"""The tools that an agent offers its model, and a script in which the model uses each of them once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from ackgap.starting.facts import Tool
from ackgap.starting.values import dotted_name

__all__ = ["script_of", "tools_in"]

_DECORATORS = frozenset({"function_tool", "tool", "tool_plain", "beta_tool", "ai_tool"})
_NOT_THE_MODEL_S = frozenset({"self", "cls", "ctx", "context", "runtime", "config", "state"})
_KINDS = {"int": "integer", "float": "number", "bool": "boolean", "str": "string"}
_SCHEMAS = ("parameters", "input_schema", "inputSchema")
_ID_LIKE = re.compile(r"(^|_)(id|ids|key|number|no|reference|ref|code|to|recipient|channel|email|currency)$")
_MOST = 8
_DONE = ("Everything that was asked for is done.", "That is done, all of it.", "I have done what you asked for.")


def tools_in(tree: ast.Module) -> Iterator[Tool]:
    """Yield the tools that a file declares: functions with a decorator for it, and tables with a schema."""
    tables = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    found: dict[str, Tool] = {}
    for node in ast.walk(tree):
        tool = None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            tool = _of_function(node)
        elif isinstance(node, ast.Dict):
            tool = _of_table(node, tables)
        if tool is not None:
            found.setdefault(tool.name, tool)
    yield from sorted(found.values(), key=lambda tool: tool.line)


def _of_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Tool | None:
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if dotted_name(call).rpartition(".")[2] not in _DECORATORS:
            continue
        parameters = tuple(
            (argument.arg, _kind_of(argument.annotation))
            for argument in (*node.args.args, *node.args.kwonlyargs)
            if argument.arg not in _NOT_THE_MODEL_S
        )
        return Tool(name=node.name, parameters=parameters, line=node.lineno)
    return None


def _kind_of(annotation: ast.expr | None) -> str:
    name = dotted_name(annotation) if annotation is not None else "str"
    return _KINDS.get(name, "string" if annotation is None or isinstance(annotation, ast.BinOp) else "other")


def _of_table(node: ast.Dict, tables: Mapping[str, ast.Dict]) -> Tool | None:
    """Return the tool of `{"name": ..., "parameters": {"properties": {...}}}`, None of another table."""
    name = _value(node, "name")
    schema = next((found for key in _SCHEMAS if (found := _table(_value(node, key), tables)) is not None), None)
    if schema is None or not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return None
    properties = _table(_value(schema, "properties"), tables)
    parameters = []
    for key, value in zip(properties.keys, properties.values, strict=True) if properties is not None else ():
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            table = _table(value, tables)
            kind = _value(table, "type") if table is not None else None
            parameters.append((key.value, str(kind.value) if isinstance(kind, ast.Constant) else "other"))
    return Tool(name=name.value, parameters=tuple(parameters), line=node.lineno)


def _table(node: ast.expr | None, tables: Mapping[str, ast.Dict]) -> ast.Dict | None:
    if isinstance(node, ast.Name):
        return tables.get(node.id)
    return node if isinstance(node, ast.Dict) else None


def _value(node: ast.Dict, wanted: str) -> ast.expr | None:
    return next(
        (
            value
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant) and key.value == wanted
        ),
        None,
    )


def script_of(tools: Sequence[Tool]) -> tuple[Mapping[str, object], ...]:
    """Return a script: in each turn another tool, with arguments in two wordings, and in the end a word about it."""
    calls: list[Mapping[str, object]] = [
        {
            "when": {"turn": number},
            "call": {"tool": tool.name, "arguments": [_arguments(tool, wording) for wording in (0, 1)]},
        }
        for number, tool in enumerate(tools[:_MOST], 1)
    ]
    return (*calls, {"say": list(_DONE)})


def _arguments(tool: Tool, wording: int) -> dict[str, object]:
    return {name: _argument(name, kind, wording) for name, kind in tool.parameters if kind != "other"}


def _argument(name: str, kind: str, wording: int) -> object:
    if kind in ("integer", "number"):
        return 1
    if kind == "boolean":
        return True
    words = name.replace("_", " ")
    if _ID_LIKE.search(name):
        return f"{words.replace(' ', '-')}-1"  # what is meant stays the same, in whatever words
    return f"The {words}, as asked for." if wording == 0 else f"Here is the {words} you wanted."
