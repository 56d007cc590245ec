"""What can be read off a program's source without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["UNKNOWN", "Call", "Entry", "SourceFacts", "Tool", "Value", "Variable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What an expression comes to, as far as that can be told.

    Attributes:
        text: Its text, where it is a constant, or the default of a variable.
        variable: The variable of the environment that it is made of; empty where it is of none.
        before: What stands before the variable's text, such as `https://`.
        after: What stands behind it, such as `/v1`.
    """

    text: str | None = None
    variable: str = ""
    before: str = ""
    after: str = ""


UNKNOWN = Value()


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Something that stands in a file of the project.

    Attributes:
        file: Path below the project.
        line: In that file.
    """

    file: str
    line: int

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable(Placed):
    """A place where a variable of the environment is read.

    Attributes:
        name: Of the variable.
        required: Whether the program cannot do without it.
        default: What the program takes in its place, where that is a constant.
        compared: What it is compared with; empty where it is with nothing.
    """

    name: str
    required: bool
    default: str | None
    compared: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Placed):
    """A call of something with a name.

    Attributes:
        name: As written, such as `SqliteSaver.from_conn_string`; what is called on a result begins with a dot.
        arguments: Those by position.
        keywords: Those by name.
        receiver: What it is called on, as in `Path("state.json").write_text(...)`.
    """

    name: str
    arguments: tuple[Value, ...]
    keywords: Mapping[str, Value]
    receiver: Value

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Placed):
    """A value that is given a name: a key of a dict, an argument, an attribute or a variable of the program.

    Attributes:
        key: Its name, such as `system_database_url`, or `stripe.api_base`.
        value: What it is.
    """

    key: str
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something that a model may ask an agent to do.

    Attributes:
        name: Of the tool.
        parameters: Name and kind of each, as JSON's schemas call kinds; `other` is one that nothing is made up for.
        line: Where it is declared.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """What a file of source says.

    Attributes:
        file: Path below the project.
        imports: Modules that it imports, dotted, and what it takes from them: `dbos`, `dbos.SetWorkflowID`.
        variables: Where it reads the environment.
        calls: What it calls.
        entries: What it names.
        strings: Constants of text, but no docstrings.
        addresses: Constants that are addresses of HTTP and no default of a variable, each with its line.
        guarded: Whether it has a part that runs only as a program.
        acts: Whether importing it does something by itself.
        functions: Functions at its top level.
        arguments: Whether it looks at its command line.
        tools: That it offers a model, in order.
    """

    file: str
    imports: frozenset[str] = frozenset()
    variables: tuple[Variable, ...] = ()
    calls: tuple[Call, ...] = ()
    entries: tuple[Entry, ...] = ()
    strings: frozenset[str] = frozenset()
    addresses: tuple[Entry, ...] = ()
    guarded: bool = False
    acts: bool = False
    functions: frozenset[str] = field(default_factory=frozenset)
    arguments: bool = False
    tools: tuple[Tool, ...] = ()

    @property
    def roots(self) -> frozenset[str]:
        """Top-level names of what it imports."""
        return frozenset(name.partition(".")[0] for name in self.imports)
