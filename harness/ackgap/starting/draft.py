"""A scenario that is being made: its parts, each with the reason for it, and what was found, guessed and not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Draft", "DraftTarget", "Remarks", "Service", "Setting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A variable of the worker's environment.

    Attributes:
        name: Of the variable.
        value: With placeholders.
        why: Where the program reads it, and whether the value is a guess.
    """

    name: str
    value: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftTarget:
    """A fake service.

    Attributes:
        name: Of the target.
        profile: A shipped one.
        why: Sentences: what it stands in for, and what may fit better.
        hosts: Whom it stands for, where the program cannot be told an address.
        script: What a model says, as entries of its setting of that name.
    """

    name: str
    profile: str
    why: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    script: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A server that the worker needs.

    Attributes:
        name: Of the service.
        keys: Lines of its table: key and value.
        why: What for.
    """

    name: str
    keys: Mapping[str, object]
    why: str


@dataclass(slots=True)
class Remarks:
    """What a person is told, by how sure it is.

    Attributes:
        found: Topic and text of what the sources say.
        guessed: Of what was concluded, and may be wrong.
        unknown: Of what could not be told.
        edits: What has to be changed before a run can prove anything, each a sentence with its place.
    """

    found: list[tuple[str, str]] = field(default_factory=list)
    guessed: list[tuple[str, str]] = field(default_factory=list)
    unknown: list[tuple[str, str]] = field(default_factory=list)
    edits: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A scenario as it will be written.

    Attributes:
        name: Of the scenario.
        title: One line.
        command: What starts the worker: a string, or words where one of them needs quotes.
        command_why: How it was found.
        settings: Of the worker's environment, in order.
        targets: Fake services, at least one.
        services: Servers beside the worker.
        engine: The table `[engine]`, where the engine is one that can be asked.
        client: The command that starts the work, where the worker does not do so by itself.
        requires: Modules that the worker's interpreter has to have.
        requires_hint: How to get them.
        state: Files in which the worker keeps its state, below the project.
        outside: Those elsewhere.
        stale: Files of state that lie in the project now, and are removed from each copy.
        server: Whether the worker waits to be asked, and nobody was found who asks.
    """

    name: str
    title: str
    command: str | tuple[str, ...]
    command_why: str
    settings: tuple[Setting, ...]
    targets: tuple[DraftTarget, ...]
    services: tuple[Service, ...] = ()
    engine: Mapping[str, object] = field(default_factory=dict)
    client: str | tuple[str, ...] | None = None
    requires: tuple[str, ...] = ()
    requires_hint: str = ""
    state: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    server: bool = False
