"""Operation: one thing that a service does, as values; what it does is in `behaviour`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ackgap.model.event import Json
from ackgap.target.wire.answer import AnswerSpec

__all__ = ["Filter", "Operation", "Outcome", "Page", "TextSearch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an operation answers instead of its usual answer, when the request has certain values.

    Attributes:
        when: Path to value; all must be equal. A path may also begin with `object`: the object that the request names,
            as it was before.
        answer: What is answered then.
        absent: And there is no such object.
        effect: The operation takes effect all the same.
    """

    when: Mapping[str, Json]
    answer: AnswerSpec
    absent: bool = False
    effect: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A parameter of a listing and the path into the stored object that it is compared with.

    Attributes:
        parameter: Path into the request; a bare name is a query parameter.
        path: With `*` at its end, the object's value only begins with the parameter's.
    """

    parameter: str
    path: str

    @property
    def place(self) -> str:
        """Path of the parameter in the request."""
        return self.parameter if "." in self.parameter else f"query.{self.parameter}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSearch:
    """A search language, read as little as is needed to find an object by a text that is in it.

    Clauses such as `name = "value"` whose name is one of `fields` are compared with what lies there. Of the rest,
    what stands in quotes is looked for; without quotes, every word that is no `name:value`. An object is found if one
    of its values holds each of them, in any case of letters.

    Attributes:
        parameter: Path of the question in the request.
        paths: Paths into the stored object; empty means all of it.
        fields: Name in a clause to path into the stored object; `metadata` stands for `metadata.order` as well, and
            `*` for every name.
        only_clauses: The language has nothing but clauses and its own words, so the rest is not looked for.
    """

    parameter: str
    paths: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    only_clauses: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """How a long listing is cut.

    Attributes:
        size: Objects on a page where the request does not say.
        largest: Most that a request may ask for.
        size_parameter: Path of the wanted size in the request; empty where it cannot be chosen.
        parameter: Path of what names the page.
        kind: `number` (pages from 1), `offset` (objects to skip) or `after` (id of the last object seen).
    """

    size: int
    parameter: str
    kind: str = "number"
    size_parameter: str = ""
    largest: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that a service does.

    Attributes:
        name: Second part of its name in reports: `create` of `tickets.create`.
        methods: Of HTTP, one or several.
        path: Of its address; `{name}` stands for one part, which is found as `path.name`. The last such part names
            the object.
        match: Path into the request to text; where one address serves many operations, all must be equal.
            Empty text: there must be no such value.
        does: What becomes of the objects, and what is answered.
        effect: It changes the outside world.
        noun: What one effect is called, singular and plural.
        identity: Paths whose values make two effects the same logical action.
        identity_weak: The identity is only what such requests usually have; a worker that does several things under
            one of them in peace is believed, and what tells those apart is learned.
        artifact: Path of what is shown to a human, where the operation asks one.
        paid: It costs money each time, as a call of a model does, and changes nothing else.
        price: What it costs, in the profile's currency.
        collection: Name of the objects that it makes or reads; a template.
        object: Template of the stored object.
        object_prefix: Of the ids of what it makes; a template. Numbers run by prefix.
        object_id: Template of the id of its object, where the client chooses it or it is no prefix and number.
        find_by: Path into stored objects to value, where the request names its object by what is in it; templates. An
            `upsert` that finds none makes one.
        answer: Its usual answer; None gives the object, or what it found, with the status that fits.
        not_found: Answer where there is no such object; None gives that of the profile.
        invalid: Answer where something required is missing; None gives that of the profile.
        several: Answer where more than one object is found so; None takes the oldest.
        appends: Field of the object to what a `patch` puts at the end of the list there; templates.
        updated: Answer of an `upsert` that wrote over an object; `answer` is that of one that made it.
        required: Paths that must be there, and not empty.
        outcomes: Answers to requests with certain values; the first that fits is given.
        filters: Parameters of a listing: name of a query parameter, or path into the request, to path into the stored
            object.
        search: Question of a listing.
        newest_first: A listing begins with the newest object, not with the oldest.
        lag_s: Virtual seconds until a `list` or `get` sees a new object; a number or a template.
        consistent_when: Path to value; a request that has one of them is answered without lag.
        consistent_for: Path into the request to path into stored objects: objects whose value is named there, alone,
            in a list or between commas, are seen without lag.
        page: How a long listing is cut; None gives all of it.
        ends: It ends its object; keys may be remembered from then on.
        passes_time: Asked in vain, it lets virtual time go on to the next change of what it is asked about.
    """

    name: str
    methods: tuple[str, ...]
    path: str
    does: str
    effect: bool
    noun: tuple[str, str]
    match: Mapping[str, str] = field(default_factory=dict)
    identity: tuple[str, ...] = ()
    identity_weak: bool = False
    artifact: str = ""
    paid: bool = False
    price: float = 0.0
    collection: str = ""
    object_prefix: str = ""
    object: Json = None
    object_id: str = ""
    find_by: Mapping[str, str] = field(default_factory=dict)
    several: AnswerSpec | None = None
    appends: Mapping[str, Json] = field(default_factory=dict)
    answer: AnswerSpec | None = None
    updated: AnswerSpec | None = None
    not_found: AnswerSpec | None = None
    required: tuple[str, ...] = ()
    invalid: AnswerSpec | None = None
    outcomes: tuple[Outcome, ...] = ()
    filters: tuple[Filter, ...] = ()
    search: TextSearch | None = None
    newest_first: bool = False
    lag_s: Json = 0
    consistent_when: Mapping[str, Json] = field(default_factory=dict)
    consistent_for: Mapping[str, str] = field(default_factory=dict)
    page: Page | None = None
    ends: bool = False
    passes_time: bool = False

    @property
    def overwrites(self) -> bool:
        """Whether doing it twice leaves the world as doing it once: the second writes over the first."""
        return self.does in {"put", "upsert"}
