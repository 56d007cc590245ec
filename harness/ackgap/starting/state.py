"""Where a worker keeps what it has done: files that its sources name, and what its engine keeps for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ackgap.starting.facts import Call, SourceFacts, Value

__all__ = ["Kept", "kept_by"]

_WRITES = frozenset({"write_text", "write_bytes", "touch"})
_MOVES = frozenset({"replace", "rename"})
_DATABASES = frozenset({"sqlite3.connect", "aiosqlite.connect", "SQLiteSession", "from_conn_string", "shelve.open"})
_MODES = ("w", "a", "x", "r+")
_SQLITE = ("sqlite:///", "sqlite+aiosqlite:///", "sqlite+pysqlite:///")
_NO_STATE = (".log", ".new", ".tmp", ".part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Files of state.

    Attributes:
        inside: Below the project.
        outside: Elsewhere: absolute, or below `~`.
        memory: Places where what should be kept is kept in memory only.
    """

    inside: tuple[str, ...]
    outside: tuple[str, ...]
    memory: tuple[str, ...]

    def lying_in(self, directory: Path) -> tuple[str, ...]:
        """Return those that are there now, with what SQLite keeps beside them: a first life would go on from them."""
        names = [name for kept in self.inside for name in (kept, f"{kept}-wal", f"{kept}-shm")]
        return tuple(name for name in names if (directory / name).is_file())


def kept_by(reached: Sequence[SourceFacts]) -> Kept:
    """Return where a worker keeps its state, as far as its sources name it."""
    names = dict.fromkeys(name for facts in reached for name in _files_in(facts) if not name.endswith(_NO_STATE))
    memory = [call.place for facts in reached for call in facts.calls if _in_memory(facts, call)]
    outside = [name for name in names if name.startswith(("/", "~"))]
    inside = [name for name in names if not name.startswith(("/", "~", "..", ":"))]
    return Kept(
        inside=tuple(dict.fromkeys(str(PurePosixPath(name)) for name in inside)),
        outside=tuple(name for name in outside if not name.startswith(("/dev/", "/proc/", "/tmp"))),  # noqa: S108
        memory=tuple(memory),
    )


def _files_in(facts: SourceFacts) -> Iterator[str]:
    for call in facts.calls:
        first = call.arguments[0] if call.arguments else Value()
        if call.last == "SQLiteSession":
            first = call.arguments[1] if len(call.arguments) > 1 else call.keywords.get("db_path", Value())
        if {call.name, call.last} & _DATABASES:
            yield from _name_of(first)
        elif call.name in ("open", "io.open", "aiofiles.open") and len(call.arguments) + len(call.keywords) > 1:
            mode = call.arguments[1] if len(call.arguments) > 1 else call.keywords.get("mode", Value())
            if (mode.text or "").startswith(_MODES):
                yield from _name_of(first)
        elif call.last in _WRITES:
            yield from _name_of(call.receiver)
        elif call.name in ("os.replace", "os.rename", "shutil.move") and len(call.arguments) > 1:
            yield from _name_of(call.arguments[1])
        elif call.last in _MOVES and len(call.arguments) == 1 and not call.receiver.variable:
            yield from _name_of(first, needs_dot=True)
    for entry in facts.entries:
        if entry.value.text and entry.value.text.startswith(_SQLITE):
            yield from _name_of(entry.value)


def _name_of(value: Value, *, needs_dot: bool = False) -> Iterator[str]:
    """Yield the file that a value names, none where it is not one."""
    text = value.text or ""
    for scheme in _SQLITE:
        text = text.removeprefix(scheme)
    text = text.partition("?")[0]
    if not text or value.before or len(text) > 200 or any(char in text for char in "\n\0{}*<>|"):
        return
    if text.startswith((":", "postgres", "redis", "http", "file:")) or (needs_dot and "." not in text):
        return
    yield text


def _in_memory(facts: SourceFacts, call: Call) -> bool:
    if call.last in ("MemorySaver", "InMemorySaver"):
        return "langgraph" in facts.roots
    if call.last == "SQLiteSession":
        return len(call.arguments) < 2 and "db_path" not in call.keywords
    return bool({call.name, call.last} & _DATABASES) and any(value.text == ":memory:" for value in call.arguments)
