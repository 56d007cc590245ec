"""Run a hook right after a module has been imported, without importing it any earlier than the user's code does."""

from __future__ import annotations

import sys

from .announcer import Announcer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["HOOKS", "PostImportFinder", "install"]

HOOKS: dict[str, tuple[str, str]] = {
    "http.client": ("http_client", "hook_http_client"),
    "urllib3.response": ("http_client", "hook_urllib3"),
    "httpcore._sync.http11": ("httpcore", "hook_sync"),
    "httpcore._async.http11": ("httpcore", "hook_async"),
    "httpcore2._sync.http11": ("httpcore", "hook_sync"),
    "httpcore2._async.http11": ("httpcore", "hook_async"),
    "aiohttp.client_reqrep": ("aiohttp", "hook_aiohttp"),
    "dbos._queue": ("dbos_polls", "hook_queue"),
    "dbos._sys_db": ("dbos", "hook_system_database"),
    "langgraph.checkpoint.base": ("langgraph_savers", "hook_savers"),
    "langgraph.pregel._executor": ("langgraph_background", "hook_executors"),
    "langgraph.pregel._loop": ("langgraph_background", "hook_loop"),
    "sqlite3.dbapi2": ("sqlite", "hook_sqlite"),
    "sqlite3": ("sqlite", "hook_sqlite"),
    "aiosqlite.core": ("sqlite", "hook_aiosqlite"),
    "asyncpg": ("postgres", "hook_asyncpg"),
    "psycopg": ("postgres", "hook_psycopg"),
    "shutil": ("files", "hook_shutil"),
    "tempfile": ("files", "hook_tempfile"),
    "temporalio.bridge.worker": ("temporal", "hook_bridge"),
    "temporalio.worker._activity": ("temporal", "hook_activities"),
    "socket": ("guard", "hook_socket"),
    "ssl": ("trust", "hook_ssl"),
}
"""Module of the user's world: module of this room and function in it that hooks it."""


def install(announcer: Announcer) -> None:
    """Hook what has been imported, and wait for the rest."""
    finder = PostImportFinder(announcer)
    for name in HOOKS:
        if name in sys.modules:
            finder.run_hook(name, sys.modules[name])
    sys.meta_path.insert(0, finder)


class PostImportFinder:
    """Finds modules as everybody else does, and has the hook run once they are there."""

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer
        self._done: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Part of the import system's protocol for finders."""
        if name not in HOOKS or name in self._done:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                self._watch(name, spec.loader)
                return spec
        return None

    def run_hook(self, name: str, module: Any) -> None:
        """Hook a module that has been imported."""
        room, function = HOOKS[name]
        self._done.add(name)
        try:
            from importlib import import_module

            getattr(import_module(f"{__package__}.{room}"), function)(module, self._announcer)
        except Exception as error:
            self._announcer.trouble(f"{name} could not be hooked", error)

    def _watch(self, name: str, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            if module.__name__ != name:  # a loader that several modules share
                execute(module)
                return
            if loader.__dict__.get("exec_module") is exec_module:
                del loader.exec_module  # the module's `__loader__` is as it would have been
            execute(module)
            self.run_hook(name, module)

        try:
            loader.exec_module = exec_module
        except AttributeError as error:
            self._announcer.trouble(f"the import of {name} could not be watched", error)
