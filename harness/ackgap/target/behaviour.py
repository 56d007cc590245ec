"""What operations do to a service's state, one small function for each word that a profile may write after `does`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ackgap.model.event import Json
from ackgap.target.lookup.listing import is_seen, listed
from ackgap.target.lookup.question import as_text
from ackgap.target.lookup.search import search_results
from ackgap.target.models.anthropic_messages import anthropic_models_answer, count_tokens_answer, messages_answer
from ackgap.target.models.openai_chat import chat_answer, models_answer
from ackgap.target.models.openai_responses import responses_answer
from ackgap.target.models.turn import Moment
from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.profile import Profile
from ackgap.target.state import State, Stored
from ackgap.target.wire.answer import Answer, AnswerSpec, answer_from, json_answer, placeholders, render
from ackgap.target.wire.paths import is_id_like
from ackgap.target.wire.request import Request, dig

__all__ = ["BEHAVIOURS", "Context", "Done", "answer_about", "overwrite"]


@dataclass(slots=True, kw_only=True)
class Context:
    """What a behaviour may look at and change.

    Attributes:
        stale_s: Lag of lookups beyond the service's own.
        variation: Which wording a scripted model uses; the same throughout one life.
        restarted: The worker is not in its first life.
        values: For placeholders.
        not_found: Makes the service's answer about an object that is not there.
        natural_keys: What the request is about, one for each rule that asked.
    """

    profile: Profile
    operation: Operation
    request: Request
    state: State
    settings: Mapping[str, Json]
    now_s: float
    variation: int
    occurrence: int
    price: float
    stale_s: float
    values: Mapping[str, Json]
    not_found: Callable[[], Answer]
    natural_keys: frozenset[str] = frozenset()
    restarted: bool = False

    @property
    def collection(self) -> str:
        """Name of the objects concerned."""
        return str(render(self.operation.collection, self.values)) or self.request.path.rstrip("/")

    @property
    def object_place(self) -> tuple[str, str]:
        """Collection and id of the one object that the request names; without an id where it names none by a value."""
        if self.operation.find_by:
            found = self.named_objects()
            return self.collection, found[0].object_id if found else ""
        if self.operation.object_id and (self.operation.does != "create" or self.chosen_id):
            return self.collection, self.chosen_id
        values = self.request.path_values
        if values:
            return self.collection, list(values.values())[-1]
        collection, _, object_id = self.request.path.rstrip("/").rpartition("/")
        return collection, object_id

    def named_objects(self) -> list[Stored]:
        """Return the objects that the request names, oldest first; several only where it names them by a value."""
        if self.operation.find_by:
            wanted = [
                (str(render(path, self.values)), as_text(render(value, self.values)))
                for path, value in self.operation.find_by.items()
            ]
            return [
                stored
                for stored in self.state.all_of(self.collection)
                if all(as_text(dig(self.view(stored), path)) == value for path, value in wanted)
            ]
        stored = None if self.operation.does == "create" else self.state.get(*self.object_place)
        return [] if stored is None else [stored]

    @property
    def chosen_id(self) -> str:
        """Id that the request gives its object; empty where the service gives it one, or it is not there."""
        template = self.operation.object_id
        if any(name.removeprefix("md5.").startswith("object.") for name in placeholders(template)):
            return ""
        chosen = render(template, self.values)
        return "" if chosen is None else str(chosen)

    def new_object(self) -> dict[str, Json]:
        """Return the id and number of an object that is being made."""
        prefix = str(render(self.operation.object_prefix, self.values)) or f"{self.collection.strip('/')}-"
        number = self.state.next_number(prefix)
        shown: dict[str, Json] = {"number": number, "id": f"{prefix}{number:04d}"}
        if self.operation.object_id:
            chosen = render(self.operation.object_id, {**self.values, "object": shown})
            shown["id"] = shown["id"] if chosen in (None, "") else str(chosen)
        return shown

    def view(self, stored: Stored) -> Json:
        """Return what the service shows of an object at this moment."""
        document = stored.document
        for later in self.profile.later:
            if later.collection != stored.collection or not isinstance(document, Mapping):
                continue
            values = {**self.values, "object": document}
            after_s = render(later.after_s, values)
            if isinstance(after_s, int | float) and self.now_s - stored.created_s >= after_s:
                shown = render(dict(later.fields), values)
                document = {**document, **shown}
        return document

    def next_change_s(self) -> float:
        """Return how many virtual seconds pass until an object that is asked about shows more; 0 if none will."""
        waiting = []
        for later in self.profile.later:
            if later.collection == self.collection:
                after_s = render(later.after_s, self.values)
                limit_s = float(after_s) if isinstance(after_s, int | float) else 0.0
                waiting += [limit_s - (self.now_s - one.created_s) for one in self.state.all_of(later.collection)]
        return min((seconds for seconds in waiting if seconds > 0), default=0.0)

    def answer(self, spec: AnswerSpec | None, status: int, body: Json, *, object_id: str = "", **more: Json) -> Answer:
        """Return the operation's answer: its own template, or a status and body."""
        if spec is None:
            return json_answer(status, body, object_id=object_id)
        return answer_from(spec, {**self.values, **more}, object_id=object_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a behaviour did.

    Attributes:
        applied: The state of the service has changed.
        existing: Why it has not, where the request repeats what is already so.
        cost: Of the attempt, where that is not simply the operation's price.
    """

    answer: Answer
    applied: bool = False
    existing: str = ""
    object_id: str = ""
    cost: float | None = field(default=None)


def _create(context: Context) -> Done:
    made = context.new_object()
    return _store(context, made["id"], _document(context, made))


def _document(context: Context, made: Mapping[str, Json]) -> Json:
    """Return the object that a request makes: the operation's template, or what was sent and the id."""
    payload = context.request.payload
    if context.operation.object is not None:
        return render(context.operation.object, {**context.values, "object": made})
    if isinstance(payload, Mapping):
        return {**payload, "id": made["id"]}
    return {"id": made["id"]} if payload is None else {"id": made["id"], "body": payload}


def _store(context: Context, object_id: str, document: Json, *, status: int = 201) -> Done:
    stored = Stored(
        object_id=object_id,
        collection=context.collection,
        document=document,
        created_s=context.now_s,
        natural_keys=context.natural_keys,
    )
    context.state.put(stored)
    shown = context.view(stored)
    answer = context.answer(context.operation.answer, status, shown, object_id=object_id, object=shown)
    return Done(answer=answer, applied=True, object_id=object_id)


def overwrite(context: Context, place: tuple[str, str]) -> Done:
    """Write what a request asks for over an object that exists, as if it had been asked for so at first."""
    collection, object_id = place
    before = context.state.get(collection, object_id)
    number = {"id": object_id, "number": object_id}
    if isinstance(before, Stored):
        context.state.put(replace(before, document=_document(context, number)))
    return answer_about(context, place)


def answer_about(context: Context, place: tuple[str, str], *, as_sent: bool = False) -> Done:
    """Return the operation's answer about an object as it is now.

    Args:
        context: Of the request.
        place: Collection and id of the object.
        as_sent: Show what the request says as if it had been stored.
    """
    stored = context.state.get(*place)
    if stored is None:
        return Done(answer=context.not_found(), object_id=place[1])
    shown = context.view(stored)
    if as_sent:
        shown = _document(context, {"id": place[1], "number": dig(shown, "number")})
    answer = context.answer(context.operation.answer, 201, shown, object_id=place[1], object=shown)
    return Done(answer=answer, object_id=place[1])


def _get(context: Context) -> Done:
    stored = context.state.get(*context.object_place)
    lag_s = _seconds(render(context.operation.lag_s, context.values))
    if stored is None or not is_seen(context.operation, context.request, context.now_s - stored.created_s, lag_s):
        return Done(answer=context.not_found())
    shown = context.view(stored)
    answer = context.answer(context.operation.answer, 200, shown, object_id=stored.object_id, object=shown)
    return Done(answer=answer, object_id=stored.object_id)


def _list(context: Context) -> Done:
    if not context.profile.described:
        stored = context.state.get(*context.object_place)
        if stored is not None or is_id_like(context.object_place[1]):
            return _get(context)
    found = listed(
        context.operation,
        context.request,
        [
            (stored.created_s, stored.object_id, context.view(stored))
            for stored in context.state.all_of(context.collection)
        ],
        lag_s=max(_seconds(render(context.operation.lag_s, context.values)), context.stale_s),
        now_s=context.now_s,
        described=context.profile.described,
    )
    body = {"items": found.items, "count": len(found.items)}
    more = {"items": found.items, "count": found.total, "more": found.more, "next": found.next}
    return Done(answer=context.answer(context.operation.answer, 200, body, **more))


def _seconds(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _upsert(context: Context) -> Done:
    """Create the object of that id, or write over the one that exists."""
    place = context.object_place
    before = context.state.get(*place)
    made = {"id": place[1], "number": 1}
    if before is None and context.operation.find_by:
        made = context.new_object()
        place = (place[0], str(made["id"]))
    document = _document(context, made)
    if before is None:
        return _store(context, place[1], document)
    if isinstance(before.document, Mapping) and isinstance(document, Mapping):
        document = {**before.document, **document}
    unchanged = before.document == document
    if not unchanged:
        context.state.put(replace(before, document=document))
    answer = context.answer(context.operation.updated, 200, document, object_id=place[1], object=document)
    existing = "it is like that already" if unchanged else ""
    return Done(answer=answer, applied=not unchanged, existing=existing, object_id=place[1])


def _put(context: Context) -> Done:
    collection, object_id = context.object_place
    payload = context.request.payload
    document = {"id": object_id, **payload} if isinstance(payload, Mapping) else {"id": object_id, "body": payload}
    if context.operation.object is not None:
        document = _document(context, {"id": object_id, "number": 1})
    before = context.state.get(collection, object_id)
    answer = context.answer(context.operation.answer, 200, document, object_id=object_id, object=document)
    if before is not None and before.document == document:
        return Done(answer=answer, existing="it is like that already", object_id=object_id)
    fresh = Stored(object_id=object_id, collection=collection, document=document, created_s=context.now_s)
    context.state.put(replace(before, document=document) if before is not None else fresh)
    return Done(answer=answer, applied=True, object_id=object_id)


def _patch(context: Context) -> Done:
    collection, object_id = context.object_place
    stored = context.state.get(collection, object_id)
    if stored is None:
        if context.profile.described:
            return Done(answer=context.not_found())
        stored = Stored(object_id=object_id, collection=collection, document={"id": object_id}, created_s=context.now_s)
        context.state.put(stored)
    template = context.operation.object
    changes = context.request.payload if template is None else render(template, context.values)
    if isinstance(stored.document, Mapping) and isinstance(changes, Mapping):
        stored.document = {**stored.document, **changes, **_appended(context, stored.document)}
    # What has ended does not end again.
    ended = context.operation.ends and (collection, object_id) in context.state.ended
    if context.operation.ends:
        context.state.ended.setdefault((collection, object_id), context.now_s)
    shown = context.view(stored)
    answer = context.answer(context.operation.answer, 200, shown, object_id=object_id, object=shown)
    existing = "it has ended already" if ended else ""
    return Done(answer=answer, applied=not ended, existing=existing, object_id=object_id)


def _appended(context: Context, before: Mapping[str, Json]) -> dict[str, Json]:
    """Return the lists that a patch makes longer; what is not in the request makes none longer."""
    longer: dict[str, Json] = {}
    for name, template in context.operation.appends.items():
        item = render(template, context.values)
        known = before.get(name)
        if item is not None:
            longer[name] = [*(known if isinstance(known, list) else []), item]
    return longer


def _delete(context: Context) -> Done:
    collection, object_id = context.object_place
    known = context.state.get(collection, object_id) is not None
    if not known and context.state.is_removed(collection, object_id):
        answer = context.not_found() if context.profile.described else json_answer(204, None)
        return Done(answer=answer, existing="it is gone already", object_id=object_id)
    if not known and context.profile.described:
        return Done(answer=context.not_found())
    context.state.remove(collection, object_id)
    context.state.ended.setdefault((collection, object_id), context.now_s)
    answer = context.answer(context.operation.answer, 204, None, object_id=object_id)
    return Done(answer=answer, applied=True, object_id=object_id)


def _answer(context: Context) -> Done:
    return Done(answer=context.answer(context.operation.answer, 200, {}), applied=True)


def _search(context: Context) -> Done:
    results = search_results(context.request, context.settings)
    body = {"results": results, "count": len(results)}
    return Done(answer=context.answer(context.operation.answer, 200, body, items=results, count=len(results)))


def _moment(context: Context) -> Moment:
    return Moment(
        variation=context.variation,
        occurrence=context.occurrence,
        now_s=context.now_s,
        restarted=context.restarted,
    )


def _chat(context: Context) -> Done:
    said = chat_answer(context.request, context.settings, _moment(context))
    return Done(answer=said.answer, cost=said.cost)


def _responses(context: Context) -> Done:
    said = responses_answer(context.request, context.settings, _moment(context), context.state)
    return Done(answer=said.answer, cost=said.cost)


def _messages(context: Context) -> Done:
    said = messages_answer(context.request, context.settings, _moment(context))
    return Done(answer=said.answer, cost=said.cost)


def _count_tokens(context: Context) -> Done:
    return Done(answer=count_tokens_answer(context.request, _moment(context)))


def _models(context: Context) -> Done:
    return Done(answer=models_answer(context.request, context.settings))


def _anthropic_models(context: Context) -> Done:
    return Done(answer=anthropic_models_answer(context.request, context.settings))


BEHAVIOURS: Mapping[str, Callable[[Context], Done]] = {
    "create": _create,
    "get": _get,
    "list": _list,
    "put": _put,
    "upsert": _upsert,
    "patch": _patch,
    "delete": _delete,
    "answer": _answer,
    "search": _search,
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "count_tokens": _count_tokens,
    "models": _models,
    "anthropic_models": _anthropic_models,
}
"""By the word after `does`."""
