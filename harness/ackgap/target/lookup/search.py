"""Scripted search results: the same question always gets the same answer."""

from __future__ import annotations

from collections.abc import Mapping

from ackgap.model.event import Json
from ackgap.target.wire.request import Request

__all__ = ["results_mistake", "search_results"]


def results_mistake(entries: Json) -> tuple[str, str] | None:
    """Return the place and nature of the first mistake in scripted results, None if they have none."""
    for number, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or set(entry) - {"when", "results"}:
            return f"[{number}]", "An entry of the results is a table with 'when' and 'results'."
        if not isinstance(entry.get("when", {}), Mapping):
            return f"[{number}].when", "'when' is a table of parameters and texts."
        if not isinstance(entry.get("results", []), list):
            return f"[{number}].results", "'results' is a list."
    return None


def search_results(request: Request, settings: Mapping[str, Json]) -> list[Json]:
    """Return what a search finds.

    Args:
        request: Its parameters, in query or body: `q` or `query` is the question, the rest tell sources apart.
        settings: `results`, a list of `{when: {parameter: text}, results: [...]}`; the first entry whose every
            text is part of that parameter is used. Without one, two results are made up from the question.
    """
    asked: dict[str, str] = {name: str(value) for name, value in request.query.items()}
    if isinstance(request.payload, Mapping):
        asked |= {str(name): str(value) for name, value in request.payload.items()}
    for entry in settings.get("results") or []:
        wanted = entry.get("when", {})
        if all(str(text).lower() in asked.get(name, "").lower() for name, text in wanted.items()):
            return list(entry.get("results", []))
    question = asked.get("q") or asked.get("query") or "everything"
    source = asked.get("source", "records")
    return [
        {
            "title": f"{question}: entry in {source}",
            "url": f"https://{source}.example/1",
            "snippet": "In good standing.",
        },
        {"title": f"{question}: history", "url": f"https://{source}.example/2", "snippet": "No remarks in ten years."},
    ]
