"""What the variables of a worker's environment are for: told by name, default, and what is done with them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ackgap.starting.facts import SourceFacts, Value, Variable

__all__ = ["Kind", "Read", "reads_of"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ADDRESS = re.compile(r"(^|_)(URL|URI|ENDPOINT|BASE|BASEURL|HOST|HOSTNAME|API|SERVER|ADDR|ADDRESS|ROOT|WEBHOOK|MCP)$")
_SECRET = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PAT|CREDENTIALS|SID)$|API_?KEY|SECRET")
_CREDENTIAL = re.compile(r"API_?KEY|ACCESS_?KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS")
_OWN = re.compile(r"(^|_)(PUBLIC|CALLBACK|REDIRECT|FRONTEND|SELF|LISTEN|BIND|CORS|ALLOWED|MY)_|^(HOST|PORT|APP_URL)$")
_TELEMETRY = re.compile(r"SENTRY|OTEL|LANGSMITH|LANGCHAIN|LOGFIRE|DATADOG|DD_|HONEYCOMB|POSTHOG|STATSD|PROXY|TRACING")
_DATABASE = re.compile(r"(^|_)(DATABASE|POSTGRES|POSTGRESQL|PG|DB|SQLALCHEMY)(_|$)|DSN$|^PG(HOST|PORT|USER|DATABASE)$")
_REDIS = re.compile(r"REDIS|VALKEY|CELERY_BROKER|CELERY_RESULT|^BROKER_URL$|RESULT_BACKEND")
_OTHER_SERVERS = re.compile(
    r"MONGO|MYSQL|MARIADB|RABBIT|AMQP|KAFKA|NATS|ELASTIC|QDRANT|WEAVIATE|MILVUS|CHROMA|NEO4J|CASSANDRA"
)
_SYSTEM = re.compile(
    r"^(HOME|PATH|USER|PWD|TMPDIR|LANG|TZ|SHELL|TERM|CI|DEBUG|LOG_?LEVEL|XDG_.*|PYTHON.*|VIRTUAL_ENV|ACKGAP_.*)$"
)
_SCHEMES = {"postgres": "postgres", "redis": "redis", "rediss": "redis", "http": "address", "https": "address"}
_POSTGRES_CLIENTS = frozenset({"psycopg", "psycopg2", "asyncpg", "pg8000"})


class Kind(StrEnum):
    """What a variable is for."""

    ADDRESS = "address"
    PORT = "port"
    POSTGRES = "postgres"
    REDIS = "redis"
    TEMPORAL = "temporal"
    PREFECT = "prefect"
    OTHER_SERVER = "other server"
    SECRET = "secret"  # noqa: S105 - a kind, none itself
    SYSTEM = "system"
    TELEMETRY = "telemetry"
    SETTING = "setting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A variable, all places where it is read taken together.

    Attributes:
        name: Of the variable.
        kind: What it is for.
        required: Whether the worker cannot do without it.
        default: What it takes in its place, where that is a constant.
        wanted: It is asked for, and nothing stands in its place: worth setting where that does no harm.
        compared: What the program compares it with; empty where it is with nothing.
        places: Files and lines.
        uses: What is made of it.
    """

    name: str
    kind: Kind
    required: bool
    default: str | None
    wanted: bool
    compared: str
    places: tuple[str, ...]
    uses: tuple[Value, ...] = ()


def reads_of(reached: Sequence[SourceFacts]) -> tuple[Read, ...]:
    """Return the variables that a program reads, in the order of their first places."""
    together: dict[str, list[Variable]] = {}
    for facts in reached:
        for variable in facts.variables:
            if _NAME.fullmatch(variable.name) is None:
                continue
            together.setdefault(variable.name, []).append(variable)
    uses: dict[str, list[Value]] = {}
    for facts in reached:
        for value in _values(facts):
            if value.variable:
                uses.setdefault(value.variable, []).append(value)
    return tuple(
        _read(name, variables, tuple(uses.get(name, ())), reached, together) for name, variables in together.items()
    )


def _values(facts: SourceFacts) -> Sequence[Value]:
    given = [value for call in facts.calls for value in (*call.arguments, *call.keywords.values())]
    return [*given, *(entry.value for entry in facts.entries)]


def _read(
    name: str,
    variables: Sequence[Variable],
    uses: tuple[Value, ...],
    reached: Sequence[SourceFacts],
    others: Mapping[str, object],
) -> Read:
    default = next((variable.default for variable in variables if variable.default is not None), None)
    return Read(
        name=name,
        kind=_kind(name, default, uses, reached, others),
        required=any(variable.required for variable in variables),
        default=default,
        wanted=default is None and _CREDENTIAL.search(name.upper()) is not None,
        compared=next((variable.compared for variable in variables if variable.compared), ""),
        places=tuple(dict.fromkeys(variable.place for variable in variables)),
        uses=uses,
    )


def _kind(
    name: str,
    default: str | None,
    uses: tuple[Value, ...],
    reached: Sequence[SourceFacts],
    others: Mapping[str, object],
) -> Kind:
    upper = name.upper()
    if _SYSTEM.match(upper):
        return Kind.SYSTEM
    if _TELEMETRY.search(upper):
        return Kind.TELEMETRY
    if "TEMPORAL" in upper and _ADDRESS.search(upper):
        return Kind.TEMPORAL
    if upper.startswith("PREFECT_"):
        return Kind.PREFECT
    if _OTHER_SERVERS.search(upper):
        return Kind.OTHER_SERVER
    scheme = (
        (default or "").partition("://")[0].partition("+")[0].removesuffix("ql") if "://" in (default or "") else ""
    )
    if scheme in _SCHEMES:
        return Kind(_SCHEMES[scheme]) if not _OWN.search(upper) else Kind.SETTING
    if scheme:
        return Kind.SETTING  # sqlite and files: the default does
    if _REDIS.search(upper):
        return Kind.REDIS
    if _DATABASE.search(upper):
        return Kind.POSTGRES if _speaks_postgres(reached) else Kind.SETTING
    if _OWN.search(upper):
        return Kind.SETTING
    if upper.endswith("_PORT") and any(f"{name[:-5]}{end}" in others for end in ("_HOST", "_HOSTNAME", "_SERVER")):
        return Kind.PORT
    if any(value.before.endswith("://") for value in uses):
        return Kind.ADDRESS
    if _SECRET.search(upper):
        return Kind.SECRET
    return Kind.ADDRESS if _ADDRESS.search(upper) else Kind.SETTING


def _speaks_postgres(reached: Sequence[SourceFacts]) -> bool:
    roots = {root for facts in reached for root in facts.roots}
    imports = {name for facts in reached for name in facts.imports}
    return bool(roots & {*_POSTGRES_CLIENTS, "sqlalchemy", "dbos"}) or any("postgres" in name for name in imports)
