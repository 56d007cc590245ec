"""From what a project shows to the draft of a scenario for it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ackgap.starting.addresses import Fitted, fit_targets
from ackgap.starting.catalogue import ENGINES, HTTP_CLIENTS, SDKS
from ackgap.starting.draft import Draft, Remarks, Service
from ackgap.starting.engines import Built, built_on
from ackgap.starting.entry_points import EntryPoint, find_client, find_entry_point, server_in
from ackgap.starting.facts import SourceFacts
from ackgap.starting.project import Project
from ackgap.starting.state import Kept, kept_by
from ackgap.starting.variables import Kind, Read, reads_of

__all__ = ["compose"]

_LARGE_BYTES = 200 * 1024 * 1024
_NEEDS_CLIENT = ("temporal", "celery")


def compose(project: Project, command: str | None) -> tuple[Draft, Remarks]:
    """Return a scenario for a project, and what was found, guessed and not known.

    Args:
        project: As it was read.
        command: What starts the worker, where the user says so.

    Raises:
        UsageInvalid: There is no program to be found.
    """
    remarks = Remarks()
    worker = find_entry_point(project, command)
    _remark_on_entry(worker, remarks)
    reached = project.reached_from(worker.file) or tuple(project.sources.values())
    client = find_client(project, worker)
    asking = project.reached_from(client.file) if client else ()
    kept = kept_by(reached)
    server = server_in(reached)
    built = built_on(reached, asking, kept, remarks, asked=bool(server))
    reads = reads_of((*reached, *(facts for facts in asking if facts not in reached)))
    _remark_on_clients(reached, remarks)
    fitted = fit_targets(reached, reads, remarks)
    services = _services(reads, reached, fitted, built, remarks)
    _other_settings(reads, fitted, project, remarks)
    for setting in built.settings:
        fitted.settings.setdefault(setting.name, setting)
    for name, value in worker.env.items():
        fitted.set(name, value, "where the modules of this project are")
    needs_client = built.engine in _NEEDS_CLIENT or bool(server)
    _remark_on_client(client if needs_client else None, needs_client, server, remarks)
    _remark_on_state(project, kept, remarks)
    _remark_on_project(project, reached, remarks)
    draft = Draft(
        name=project.name,
        title=f"{project.name}, as `ackgap init` found it",
        command=worker.command,
        command_why=worker.why,
        settings=tuple(fitted.settings.values()),
        targets=tuple(fitted.targets.values()),
        services=services,
        engine=built.table,
        client=client.command if client is not None and needs_client else None,
        requires=_requires(project, worker, reached),
        requires_hint=_hint(project),
        state=kept.inside,
        outside=kept.outside,
        stale=kept.lying_in(project.directory),
        server=needs_client and client is None,
    )
    return draft, remarks


def _remark_on_entry(worker: EntryPoint, remarks: Remarks) -> None:
    shown = worker.command if isinstance(worker.command, str) else " ".join(worker.command)
    if worker.file:
        remarks.found.append(("worker", f"{shown} ({worker.file}: {worker.why})"))
    else:
        remarks.found.append(("worker", f"{shown} ({worker.why})"))
        remarks.guessed.append(("sources", "which of them the command runs is not seen; all of them were read"))
    if worker.others:
        others = ", ".join(worker.others[:4]) + (" and more" if len(worker.others) > 4 else "")
        remarks.guessed.append(("worker", f"it is none of {others}; --worker COMMAND says another one"))


def _remark_on_clients(reached: Sequence[SourceFacts], remarks: Remarks) -> None:
    imports = {name for facts in reached for name in (*facts.imports, *facts.roots)}
    clients = [title for module, title in HTTP_CLIENTS.items() if module in imports]
    clients += [sdk.title for module, sdk in SDKS.items() if module in imports]
    if clients:
        remarks.found.append(("clients", ", ".join(dict.fromkeys(clients))))
    else:
        remarks.unknown.append(("clients", "no client of HTTP that is known was imported"))


def _services(
    reads: Sequence[Read], reached: Sequence[SourceFacts], fitted: Fitted, built: Built, remarks: Remarks
) -> tuple[Service, ...]:
    """Return the servers that the worker needs, and set the variables that lead to them."""
    found = {service.name: service for service in built.services}
    for read in reads:
        place = f"read at {', '.join(read.places[:3])}"
        if read.kind is Kind.POSTGRES:
            found.setdefault(
                "db", Service(name="db", keys={"kind": "postgres"}, why="PostgreSQL, new and empty in each cell.")
            )
            fitted.set(read.name, _postgres_text(read), place)
        elif read.kind is Kind.REDIS:
            found.setdefault(
                "redis", Service(name="redis", keys={"kind": "redis"}, why="Redis, new and empty in each cell.")
            )
            fitted.set(read.name, "{redis.url}", place)
        elif read.kind is Kind.TEMPORAL:
            fitted.set(read.name, "{temporal.address}", place)
        elif read.kind is Kind.OTHER_SERVER:
            remarks.unknown.append(
                (read.name, f'{place}: ackgap knows no such server; [services.NAME] with kind = "command" starts any')
            )
    for facts in reached:
        for entry in facts.entries:
            text = entry.value.text or ""
            if not entry.value.variable and text.startswith(("postgresql", "postgres:", "redis://")):
                _written_server(found, fitted, remarks, entry.place, text)
    return tuple(found.values())


def _written_server(found: dict[str, Service], fitted: Fitted, remarks: Remarks, place: str, text: str) -> None:
    """Add the server whose address is written into the sources: it needs an edit."""
    postgres = text.startswith("postgres")
    name, variable = ("db", "DATABASE_URL") if postgres else ("redis", "REDIS_URL")
    kind, title = ("postgres", "PostgreSQL") if postgres else ("redis", "Redis")
    found.setdefault(name, Service(name=name, keys={"kind": kind}, why=f"{title}, new and empty in each cell."))
    fitted.set(variable, f"{{{name}.url}}", "read once the edit is made that `ackgap init` named")
    remarks.edits.append(f'{place}: the address of {title} is written there; write os.environ["{variable}"] for it')


def _postgres_text(read: Read) -> str:
    """Return the address of the database in the form that the worker's own default has."""
    upper = read.name.upper()
    for end, part in (
        ("HOST", "host"),
        ("PORT", "port"),
        ("USER", "user"),
        ("DATABASE", "database"),
        ("NAME", "database"),
    ):
        if upper.endswith(end):
            return f"{{db.{part}}}"
    if upper.endswith("PASSWORD"):
        return "unused"
    scheme = (read.default or "").partition("://")[0]
    driver = scheme if "+" in scheme else ""
    return f"{driver}://{{db.user}}@{{db.host}}:{{db.port}}/{{db.database}}" if driver else "{db.url}"


def _other_settings(reads: Sequence[Read], fitted: Fitted, project: Project, remarks: Remarks) -> None:
    """Set what the worker cannot do without, and is no address."""
    for read in reads:
        if read.name in fitted.settings:
            continue
        place = read.places[0]
        if read.kind is Kind.SECRET and (read.required or read.wanted):
            fitted.set(read.name, "unused", f"read at {place}; fakes do not look at secrets")
        elif read.kind in (Kind.SETTING, Kind.PORT) and read.required:
            guess = read.compared or "1"
            fitted.set(read.name, guess, f"read at {place}; a guess, put in what it should be")
            remarks.unknown.append((read.name, f'{place} needs it and has no default; "{guess}" is written, change it'))
    if project.dotenv & fitted.settings.keys():
        names = ", ".join(sorted(project.dotenv & fitted.settings.keys()))
        remarks.guessed.append(
            (".env", f"it names {names} too; what scenario.toml says wins, unless load_dotenv has override=True")
        )


def _remark_on_client(client: EntryPoint | None, needed: bool, server: str, remarks: Remarks) -> None:
    if client is not None:
        shown = client.command if isinstance(client.command, str) else " ".join(client.command)
        remarks.found.append(("client", f"{shown} ({client.file}: it hands over the work)"))
        if client.others:
            remarks.guessed.append(("client", f"it is none of {', '.join(client.others)}"))
    elif needed:
        why = f"{server} waits for requests" if server else "the worker waits for work"
        remarks.edits.append(
            f"scenario.toml: {why}, and no program was found that hands it some; name one in [client], which is "
            "written there as a comment"
        )


def _remark_on_state(project: Project, kept: Kept, remarks: Remarks) -> None:
    for place in kept.memory:
        remarks.guessed.append(("state", f"what {place} keeps is in memory, and gone at a death"))
    if kept.outside:
        remarks.guessed.append(("state", f"{', '.join(kept.outside)} is put back before each cell (external_state)"))
    stale = kept.lying_in(project.directory)
    if stale:
        remarks.found.append(("state", f"{', '.join(stale)} of an earlier run; removed from each copy by [prepare]"))


def _remark_on_project(project: Project, reached: Sequence[SourceFacts], remarks: Remarks) -> None:
    for text in project.unread[:3]:
        remarks.unknown.append(("sources", text))
    if project.bytes > _LARGE_BYTES:
        remarks.unknown.append(
            ("directory", f"{project.bytes // 1024 // 1024} MiB are copied into each cell; name a smaller one, or less")
        )
    if any(facts.arguments for facts in reached):
        place = next(facts.file for facts in reached if facts.arguments)
        remarks.unknown.append(("arguments", f"{place} reads its command line; put what it needs into worker.command"))
    if not any(facts.file.endswith(".py") for facts in reached):
        remarks.guessed.append(
            ("sources", "only variables were read off; no Python, so calls stop at received and applied")
        )


def _requires(project: Project, worker: EntryPoint, reached: Sequence[SourceFacts]) -> tuple[str, ...]:
    """Return the modules without which the worker cannot begin."""
    words = worker.command.split() if isinstance(worker.command, str) else worker.command
    if not words or not words[0].startswith("python"):
        return ()
    roots = {root for facts in reached for root in facts.roots}
    imports = {name for facts in reached for name in facts.imports}
    known = [*ENGINES, *HTTP_CLIENTS, *SDKS]
    found = [name for name in known if name in roots and name not in sys.stdlib_module_names]
    savers = ("langgraph.checkpoint.sqlite", "langgraph.checkpoint.postgres")
    found += [name for name in savers if any(imported.startswith(name) for imported in imports)]
    return tuple(sorted(name for name in found if project.module(name) is None))


def _hint(project: Project) -> str:
    if (project.directory / "requirements.txt").is_file():
        return "pip install -r requirements.txt"
    if (project.directory / "pyproject.toml").is_file():
        return "pip install -e ."
    return ""
