"""What operations do to a service's state, one small function for each word that a profile may write after `does`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ackgap.model.event import Json
from ackgap.target.answer import Answer, answer_from, json_answer, render
from ackgap.target.chat import chat_answer, models_answer
from ackgap.target.profile import AnswerSpec, Operation, Profile, is_id_like
from ackgap.target.request import MISSING, Request, dig
from ackgap.target.search import search_results
from ackgap.target.state import State, Stored

__all__ = ["BEHAVIOURS", "Context", "Done"]


@dataclass(slots=True, kw_only=True)
class Context:
    """What a behaviour may look at and change.

    Attributes:
        variation: Which wording a scripted model uses; the same throughout one life.
        values: For placeholders.
        not_found: Makes the service's answer about an object that is not there.
        natural_key: What the request is about, where a rule asked.
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
    values: Mapping[str, Json]
    not_found: Callable[[], Answer]
    natural_key: str = ""

    @property
    def collection(self) -> str:
        """Name of the objects concerned."""
        return self.operation.collection or self.request.path.rstrip("/")

    @property
    def object_place(self) -> tuple[str, str]:
        """Collection and id of the one object that the path names."""
        values = self.request.path_values
        if values:
            return self.operation.collection, list(values.values())[-1]
        collection, _, object_id = self.request.path.rstrip("/").rpartition("/")
        return collection, object_id

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
    operation, payload = context.operation, context.request.payload
    object_id = context.state.new_id(operation.object_prefix or f"{context.collection.strip('/')}-")
    if operation.object is not None:
        document = render(operation.object, {**context.values, "object": {"id": object_id}})
    elif isinstance(payload, Mapping):
        document = {**payload, "id": object_id}
    else:
        document = {"id": object_id} if payload is None else {"id": object_id, "body": payload}
    stored = Stored(
        object_id=object_id,
        collection=context.collection,
        document=document,
        created_s=context.now_s,
        natural_key=context.natural_key,
    )
    context.state.put(stored)
    shown = context.view(stored)
    answer = context.answer(operation.answer, 201, shown, object_id=object_id, object=shown)
    return Done(answer=answer, applied=True, object_id=object_id)


def _get(context: Context) -> Done:
    stored = context.state.get(*context.object_place)
    if stored is None:
        return Done(answer=context.not_found())
    shown = context.view(stored)
    answer = context.answer(context.operation.answer, 200, shown, object_id=stored.object_id, object=shown)
    return Done(answer=answer, object_id=stored.object_id)


def _list(context: Context) -> Done:
    if not context.profile.described:
        stored = context.state.get(*context.object_place)
        if stored is not None or is_id_like(context.object_place[1]):
            return _get(context)
    shown = [context.view(stored) for stored in context.state.all_of(context.collection)]
    for parameter, path in _filters(context, shown):
        wanted = context.request.query[parameter]
        shown = [document for document in shown if _as_text(dig(document, path)) == _as_text(wanted)]
    if context.operation.newest_first:
        shown.reverse()
    body = {"items": shown, "count": len(shown)}
    return Done(answer=context.answer(context.operation.answer, 200, body, items=shown, count=len(shown)))


def _filters(context: Context, shown: list[Json]) -> list[tuple[str, str]]:
    query = context.request.query
    if context.profile.described:
        return [(item.parameter, item.path) for item in context.operation.filters if item.parameter in query]
    # Of a service that nobody described it is not known which parameters filter: those that name a field do.
    return [(name, name) for name in query if any(dig(document, name) is not MISSING for document in shown)]


def _put(context: Context) -> Done:
    collection, object_id = context.object_place
    payload = context.request.payload
    document = {"id": object_id, **payload} if isinstance(payload, Mapping) else {"id": object_id, "body": payload}
    before = context.state.get(collection, object_id)
    answer = context.answer(context.operation.answer, 200, document, object_id=object_id, object=document)
    if before is not None and before.document == document:
        return Done(answer=answer, existing="it is like that already", object_id=object_id)
    created_s = before.created_s if before else context.now_s
    context.state.put(Stored(object_id=object_id, collection=collection, document=document, created_s=created_s))
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
        stored.document = {**stored.document, **changes}
    shown = context.view(stored)
    answer = context.answer(context.operation.answer, 200, shown, object_id=object_id, object=shown)
    return Done(answer=answer, applied=True, object_id=object_id)


def _delete(context: Context) -> Done:
    collection, object_id = context.object_place
    known = context.state.get(collection, object_id) is not None
    if not known and context.state.is_removed(collection, object_id):
        answer = context.not_found() if context.profile.described else json_answer(204, None)
        return Done(answer=answer, existing="it is gone already", object_id=object_id)
    if not known and context.profile.described:
        return Done(answer=context.not_found())
    context.state.remove(collection, object_id)
    answer = context.answer(context.operation.answer, 204, None, object_id=object_id)
    return Done(answer=answer, applied=True, object_id=object_id)


def _answer(context: Context) -> Done:
    return Done(answer=context.answer(context.operation.answer, 200, {}), applied=True)


def _search(context: Context) -> Done:
    results = search_results(context.request, context.settings)
    body = {"results": results, "count": len(results)}
    return Done(answer=context.answer(context.operation.answer, 200, body, items=results, count=len(results)))


def _chat(context: Context) -> Done:
    reply = chat_answer(
        context.request,
        context.settings,
        variation=context.variation,
        occurrence=context.occurrence,
        now_s=context.now_s,
    )
    return Done(answer=reply.answer, cost=reply.cost)


def _models(context: Context) -> Done:
    return Done(answer=models_answer(context.settings))


def _as_text(value: Json) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is MISSING or value is None else str(value)


BEHAVIOURS: Mapping[str, Callable[[Context], Done]] = {
    "create": _create,
    "get": _get,
    "list": _list,
    "put": _put,
    "patch": _patch,
    "delete": _delete,
    "answer": _answer,
    "search": _search,
    "chat": _chat,
    "models": _models,
}
"""By the word after `does`."""
