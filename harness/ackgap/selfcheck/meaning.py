"""Meaning: which parts of an agent act on the outside world, look at it, or write down durably; read off its structure.

A request with a body acts, one without looks. A file that is put in another's place, a commit and a write into an open
file are durable. A function does what the calls in it do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property

from ackgap.selfcheck.agent_source import AgentSource, Function

__all__ = ["KEY_NAMES", "KEY_PARAMETERS", "Deed", "Meaning", "call_name", "constant", "is_none", "own_nodes"]

KEY_NAMES = frozenset(
    {"idempotency-key", "idempotency_key", "x-idempotency-key", "paypal-request-id", "client_token", "client_msg_id"}
)
"""What headers, fields and arguments with an idempotency key are called, in small letters."""
KEY_PARAMETERS = frozenset({"key", "message_id", "idempotency_key"})
"""What parameters of an agent's own functions are called that take one."""

_CLIENT_MODULES = frozenset({"httpx", "requests"})
_ACTING_METHODS = frozenset({"post", "put", "patch", "delete"})
_BODY_PARAMETERS = ("body", "form", "data", "payload", "json", "message")


class Deed(StrEnum):
    """What a call does that matters after a crash."""

    ACT = "act"
    """It asks a service to change something, or pays for an answer."""
    LOOK = "look"
    """It asks a service what there is."""
    WRITE = "write"
    """It makes something durable."""


class Meaning:
    """What the parts of an agent do.

    Args:
        source: The agent.
    """

    def __init__(self, source: AgentSource) -> None:
        self.source = source

    def deeds(self, node: ast.AST) -> frozenset[Deed]:
        """Return what is done in a node, by the calls in it and in the functions that it calls."""
        return frozenset(deed for call in own_nodes(node) if (deed := self.deed(call)) is not None)

    def deed(self, node: ast.AST) -> Deed | None:
        """Return what one node does; the strongest where it does several things."""
        if isinstance(node, ast.With) and any(self._is_connection(item.context_expr) for item in node.items):
            return Deed.WRITE
        if not isinstance(node, ast.Call):
            return None
        name = call_name(node)
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in self.source.functions:
            return self._of_function_call(self.source.functions[name], node)
        if name == "urlopen":
            return self._of_urlopen(node)
        if owner is not None and self._is_client(owner):
            return Deed.ACT if name in _ACTING_METHODS else Deed.LOOK if name == "get" else None
        return Deed.WRITE if _is_durable(node, name, owner) else None

    @cached_property
    def acting(self) -> frozenset[str]:
        """Names of functions in which the outside world is acted on."""
        return frozenset(name for name in self.source.functions if Deed.ACT in self._of_function(name))

    @cached_property
    def writing(self) -> frozenset[str]:
        """Names of functions that write down durably and do nothing to the outside world."""
        return frozenset(name for name in self.source.functions if self._of_function(name) == {Deed.WRITE})

    def is_write(self, statement: ast.stmt) -> bool:
        """Whether a statement is a durable write and nothing else that matters."""
        return isinstance(statement, ast.Expr | ast.With) and self.deeds(statement) == {Deed.WRITE}

    def acts(self, node: ast.AST) -> bool:
        """Whether the outside world is acted on in a node."""
        return Deed.ACT in self.deeds(node)

    def sends_key(self, node: ast.AST) -> bool:
        """Whether what acts in a node sends an idempotency key, as far as one can see."""
        for call in own_nodes(node):
            if not isinstance(call, ast.Call) or not self.acts(call):
                continue
            function = self.source.functions.get(call_name(call))
            if function is None:
                continue
            names = [argument.arg for argument in function.args.args]
            given = [name for name, value in zip(names, call.args, strict=False) if not is_none(value)]
            if KEY_PARAMETERS & {*given, *(keyword.arg for keyword in call.keywords)}:
                return True
            if not KEY_PARAMETERS & set(names) and any(
                str(constant(each)).lower() in KEY_NAMES for each in ast.walk(function)
            ):
                return True
            if any(self.sends_key(statement) for statement in function.body if self.acts(statement)):
                return True
        return False

    def body_argument(self, call: ast.Call) -> ast.expr | None:
        """Return what a call sends, where it is one of its arguments."""
        for keyword in call.keywords:
            if keyword.arg in _BODY_PARAMETERS or keyword.arg == "content":
                return keyword.value
        function = self.source.functions.get(call_name(call))
        if function is None:
            return None
        names = [argument.arg for argument in function.args.args]
        return next(
            (call.args[n] for n, name in enumerate(names) if name in _BODY_PARAMETERS and n < len(call.args)), None
        )

    def calls_argument(self, function: Function) -> str | None:
        """Return the parameter that a function calls, as one does that keeps what a step came to."""
        names = {argument.arg for argument in function.args.args}
        called = [
            node.func.id
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        return next((name for name in called if name in names), None)

    # ----------------------------------------------------------------- parts

    def _of_function(self, name: str, seen: frozenset[str] = frozenset()) -> frozenset[Deed]:
        function = self.source.functions[name]
        found: set[Deed] = set()
        for node in own_nodes(function):
            called = call_name(node) if isinstance(node, ast.Call) else ""
            if called in self.source.functions and called not in seen | {name}:
                deed = self._of_function_call(self.source.functions[called], node, seen | {name})  # type: ignore[arg-type]
            else:
                deed = None if called in self.source.functions else self.deed(node)
            if deed is not None:
                found.add(deed)
        return frozenset(found)

    def _of_function_call(self, function: Function, call: ast.Call, seen: frozenset[str] = frozenset()) -> Deed | None:
        deeds = self._of_function(function.name, seen)
        optional = self._optional_body(function)
        if Deed.ACT in deeds and optional is not None and self.body_argument(call) is None:
            return Deed.LOOK
        return next((deed for deed in Deed if deed in deeds), None)

    def _of_urlopen(self, call: ast.Call) -> Deed:
        """Return whether a request has a body: it is made there, or nearby in the same function."""
        given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "url")]
        request = given[0] if given else call
        if isinstance(request, ast.Name):
            function = self.source.function_of(call) or self.source.tree
            made = [
                node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Assign)
                and any(isinstance(to, ast.Name) and to.id == request.id for to in node.targets)
            ]
            request = made[-1] if made else request
        is_request = isinstance(request, ast.Call) and call_name(request) == "Request"
        has_body = is_request and (len(request.args) > 1 or any(each.arg == "data" for each in request.keywords))  # type: ignore[attr-defined]
        return Deed.ACT if has_body else Deed.LOOK

    def _optional_body(self, function: Function) -> str | None:
        arguments = function.args.args
        defaults = dict(zip([each.arg for each in reversed(arguments)], reversed(function.args.defaults), strict=False))
        for name, default in defaults.items():
            if name in _BODY_PARAMETERS and isinstance(default, ast.Constant) and default.value is None:
                return name
        return None

    @cached_property
    def _clients(self) -> frozenset[str]:
        """Names that stand for HTTP clients."""
        names = set(_CLIENT_MODULES)
        for node in ast.walk(self.source.tree):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Call)
                and call_name(node.value) in ("Client", "AsyncClient", "Session")
            ):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        return frozenset(names)

    def _is_client(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self._clients

    def _is_connection(self, node: ast.expr) -> bool:
        """Whether a name stands for a connection of SQLite, of which `with` makes a transaction."""
        return isinstance(node, ast.Name) and any(
            isinstance(each, ast.Assign)
            and isinstance(each.value, ast.Call)
            and call_name(each.value) == "connect"
            and any(isinstance(target, ast.Name) and target.id == node.id for target in each.targets)
            for each in ast.walk(self.source.tree)
        )


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is in it, without functions that are only defined there."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function | ast.ClassDef):
            yield from own_nodes(child)


def call_name(call: ast.Call) -> str:
    """Return the last part of the name that is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def is_none(node: ast.expr) -> bool:
    """Whether an expression is `None` itself."""
    return isinstance(node, ast.Constant) and node.value is None


def constant(node: ast.AST | None) -> object:
    """Return the value of a constant, None where a node is none."""
    return node.value if isinstance(node, ast.Constant) else None


def _is_durable(call: ast.Call, name: str, owner: ast.expr | None) -> bool:
    if owner is None:
        return False
    if name in ("commit", "write_text", "write_bytes"):
        return True
    if name in ("replace", "rename"):
        return (isinstance(owner, ast.Name) and owner.id == "os") or (len(call.args) == 1 and not call.keywords)
    return name == "write" and isinstance(owner, ast.Name) and owner.id in ("file", "found", "journal")
