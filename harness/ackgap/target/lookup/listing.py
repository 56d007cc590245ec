"""Listings: which objects a lookup finds, and which it does not see yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ackgap.model.event import Json
from ackgap.target.lookup.question import answers_question, as_text, is_value
from ackgap.target.profiles.operation import Operation, Page
from ackgap.target.wire.request import MISSING, Request, dig

__all__ = ["Listed", "is_seen", "listed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One page of what a lookup found.

    Attributes:
        total: How many it found on all pages.
        more: There is another page.
        next: What names that page: its number, its offset, or the id of the last object of this one.
    """

    items: list[Json]
    total: int
    more: bool = False
    next: Json = None


def listed(
    operation: Operation,
    request: Request,
    objects: Sequence[tuple[float, str, Json]],
    *,
    lag_s: float,
    now_s: float,
    described: bool = True,
) -> Listed:
    """Return what a lookup finds.

    Args:
        operation: The lookup.
        request: Its parameters.
        objects: Virtual time of making, id and document of each object of the collection, oldest first.
        lag_s: Objects that are younger are not seen, unless the request asks for consistency.
        now_s: Virtual time.
        described: The profile says which parameters filter; else those that name a field do.
    """
    found = [
        (object_id, shown)
        for created_s, object_id, shown in objects
        if is_seen(operation, request, now_s - created_s, lag_s) or _is_asked_for(operation, request, shown)
    ]
    for place, path in _filters(operation, request, [shown for _, shown in found], described=described):
        wanted = as_text(request.value_at(place))
        found = [entry for entry in found if _fits(entry[1], path, wanted)]
    question = request.value_at(operation.search.parameter) if operation.search is not None else MISSING
    if operation.search is not None and isinstance(question, str):
        found = [entry for entry in found if answers_question(operation.search, question, entry[1])]
    if operation.newest_first:
        found.reverse()
    return _cut(operation.page, request, found)


def is_seen(operation: Operation, request: Request, age_s: float, lag_s: float) -> bool:
    """Whether a lookup sees an object of that age, in virtual seconds."""
    consistent = any(request.value_at(path) == value for path, value in operation.consistent_when.items())
    return consistent or lag_s <= 0 or age_s >= lag_s


def _fits(shown: Json, path: str, wanted: str) -> bool:
    if path.endswith("*"):
        return as_text(dig(shown, path[:-1])).startswith(wanted)
    return is_value(dig(shown, path), wanted, exactly=True)


def _filters(operation: Operation, request: Request, shown: list[Json], *, described: bool) -> list[tuple[str, str]]:
    if described:
        return [(item.place, item.path) for item in operation.filters if request.value_at(item.place) is not MISSING]
    return [
        (f"query.{name}", name)
        for name in request.query
        if any(dig(document, name) is not MISSING for document in shown)
    ]


def _is_asked_for(operation: Operation, request: Request, shown: Json) -> bool:
    for place, path in operation.consistent_for.items():
        named = request.value_at(place)
        names = named if isinstance(named, list) else as_text(named).split(",")
        value = as_text(dig(shown, path))
        if value and any(as_text(name).strip() == value for name in names):
            return True
    return False


def _cut(page: Page | None, request: Request, found: list[tuple[str, Json]]) -> Listed:
    items = [shown for _, shown in found]
    if page is None:
        return Listed(items=items, total=len(items))
    size = min(_number(request.value_at(page.size_parameter), page.size), page.largest) if page.size_parameter else 0
    size = size or page.size
    mark = request.value_at(page.parameter)
    start = 0
    if page.kind == "number":
        start = (max(_number(mark, 1), 1) - 1) * size
    elif page.kind == "offset":
        start = _number(mark, 0)
    elif mark is not MISSING:
        ids = [object_id for object_id, _ in found]
        start = ids.index(str(mark)) + 1 if str(mark) in ids else 0
    end = start + size
    more = end < len(items)
    following: Json = None
    if more:
        last = found[end - 1][0]
        following = {"number": start // size + 2, "offset": end}.get(page.kind, last)
    return Listed(items=items[start:end], total=len(items), more=more, next=following)


def _number(value: Json, otherwise: int) -> int:
    text = "" if value is MISSING or value is None else str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise
