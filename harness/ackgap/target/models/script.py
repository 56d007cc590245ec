"""Script: what a model says, by the first entry that applies, and what is wrong with one before anything runs.

An entry is `{when = {contains, tool, last_role, turn}, say, call, calls, drift, instead}`. `say` is a wording or a list
of them; `call` is one call and `calls` are several, each with a list of arguments, one for each wording.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from ackgap.model.event import Json
from ackgap.target.models.conversation import Conversation, Reply, ToolCall
from ackgap.target.models.drift import Variation, drift_mistake, drifted
from ackgap.target.models.invention import acknowledgement, invented

__all__ = ["reply_of", "script_mistake", "settings_mistake"]

_CONDITIONS = ("contains", "last_role", "tool", "turn")
_SAID = ("say", "call", "calls")
_KEYS = frozenset({"when", "drift", "instead", *_SAID})

Mistake = tuple[str, str]


def reply_of(conversation: Conversation, script: Sequence[Json], variation: Variation) -> tuple[Reply, Variation]:
    """Return what the model says, and the variation by which it was chosen: an entry may have a drift of its own."""
    for entry in script:
        if _applies(entry.get("when") or {}, conversation):
            chosen = variation.of_kinds(entry.get("drift"))
            instead = entry.get("instead")
            said = instead if instead and chosen.decides_otherwise else entry
            return drifted(_scripted(said, chosen), chosen), chosen
    return drifted(_unscripted(conversation, variation), variation), variation


def settings_mistake(settings: Mapping[str, Json]) -> tuple[str, str, str] | None:
    """Return the first mistake in a model's settings: which setting, where in it and what; None if there is none."""
    if mistake := script_mistake(settings.get("script") or []):
        return "script", *mistake
    if "drift" in settings and (mistake := drift_mistake(settings["drift"])):
        return "drift", *mistake
    return None


def script_mistake(script: Json) -> Mistake | None:
    """Return the place and nature of the first mistake in a script, None if it has none."""
    return next(_mistakes(script), None)


def _scripted(entry: Mapping[str, Json], variation: Variation) -> Reply:
    written = [entry["call"]] if entry.get("call") else entry.get("calls") or []
    calls = tuple(
        ToolCall(tool=call["tool"], arguments=_pick(call.get("arguments") or [{}], variation)) for call in written
    )
    text = _pick(entry["say"], variation) if entry.get("say") else None
    return Reply(text=None if text is None else str(text), calls=calls)


def _unscripted(conversation: Conversation, variation: Variation) -> Reply:
    if conversation.forced:
        tool = conversation.tool(conversation.forced)
        name = tool.name if tool else conversation.forced
        arguments = invented(tool.schema, conversation, variation.wording) if tool else {}
        return Reply(calls=(ToolCall(tool=name, arguments=arguments or {}),))
    if conversation.schema is not None:
        return Reply(text=json.dumps(invented(conversation.schema, conversation, variation.wording)))
    return Reply(text=acknowledgement(conversation, variation.wording))


def _pick(wordings: Json, variation: Variation) -> Json:
    """Return one of the wordings. Once all have been used, none comes back as it was: no model repeats itself so."""
    if isinstance(wordings, str):
        return wordings
    chosen = wordings[variation.wording % len(wordings)]
    round_number = variation.number // len(wordings) if "wording" in variation.kinds else 0
    return chosen if len(wordings) == 1 or not round_number else _said_again(chosen, round_number)


def _said_again(said: Json, round_number: int) -> Json:
    """Return the same in other words; what is one word may be an id, and stays."""
    if isinstance(said, Mapping):
        return {name: _said_again(value, round_number) for name, value in said.items()}
    if isinstance(said, str) and " " in said.strip() and not said.lstrip().startswith(("{", "[")):
        return f"{said} To say it {'once more' if round_number == 1 else f'a time more ({round_number})'}."
    return said


def _applies(when: Mapping[str, Json], conversation: Conversation) -> bool:
    """Whether an entry's conditions hold; see the settings of the `model` profile for what they mean."""
    contains = when.get("contains")
    wanted = [contains] if isinstance(contains, str) else contains or []
    spoken = conversation.spoken.lower()
    if not all(str(text).lower() in spoken for text in wanted):
        return False
    if "tool" in when and conversation.tool(when["tool"]) is None:
        return False
    if "last_role" in when and when["last_role"] != conversation.last_role:
        return False
    return not ("turn" in when and when["turn"] != conversation.turn)


def _mistakes(script: Json) -> Iterator[Mistake]:
    for number, entry in enumerate(script):
        place = f"[{number}]"
        if not isinstance(entry, Mapping):
            yield place, "An entry of a script is a table."
            continue
        yield from _when_mistakes(place, entry)
        yield from _said_mistakes(place, entry)
        if "drift" in entry and (mistake := drift_mistake(entry["drift"])):
            yield f"{place}.drift{mistake[0]}", mistake[1]
        if "instead" in entry:
            yield from _instead_mistakes(f"{place}.instead", entry["instead"])
        elif "decision" in (entry.get("drift") or ()):
            yield f"{place}.drift", "An entry whose decision drifts says with 'instead' what it decides instead."


def _when_mistakes(place: str, entry: Mapping[str, Json]) -> Iterator[Mistake]:
    when = entry.get("when", {})
    if not isinstance(when, Mapping):
        yield f"{place}.when", f"Conditions are a table of {', '.join(_CONDITIONS)}."
        return
    unknown = sorted(set(when) - set(_CONDITIONS))
    if unknown:
        yield f"{place}.when", f"{unknown[0]!r} is no condition; write {', '.join(_CONDITIONS)}."
    contains = when.get("contains", "")
    texts = contains if isinstance(contains, list) else [contains]
    if not all(isinstance(text, str) for text in texts):
        yield f"{place}.when.contains", "What has to occur is a text or a list of texts."
    for name in ("tool", "last_role"):
        if name in when and not isinstance(when[name], str):
            yield f"{place}.when.{name}", "It is a text."
    turn = when.get("turn", 1)
    if not isinstance(turn, int) or isinstance(turn, bool) or turn < 1:
        yield f"{place}.when.turn", "Turns are whole numbers from 1."


def _said_mistakes(place: str, entry: Mapping[str, Json]) -> Iterator[Mistake]:
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        yield f"{place}.{unknown[0]}", f"An entry of a script has no {unknown[0]!r}; it has {', '.join(sorted(_KEYS))}."
    if not any(name in entry for name in _SAID):
        yield place, "An entry of a script has 'say', 'call' or 'calls'."
    if "call" in entry and "calls" in entry:
        yield place, "An entry of a script has 'call' for one call or 'calls' for several, not both."
    if "say" in entry and not _is_wording(entry["say"]):
        yield f"{place}.say", "What the model says is a text or a list of wordings."
    if "call" in entry:
        yield from _call_mistakes(f"{place}.call", entry["call"])
    if "calls" in entry:
        calls = entry["calls"]
        if not isinstance(calls, list) or not calls:
            yield f"{place}.calls", "Calls are a list that is not empty."
            return
        for number, call in enumerate(calls):
            yield from _call_mistakes(f"{place}.calls[{number}]", call)


def _call_mistakes(place: str, call: Json) -> Iterator[Mistake]:
    if not isinstance(call, Mapping) or not isinstance(call.get("tool"), str) or not call["tool"]:
        yield place, "A call names its tool."
        return
    unknown = sorted(set(call) - {"tool", "arguments"})
    if unknown:
        yield f"{place}.{unknown[0]}", f"A call has no {unknown[0]!r}; it has tool and arguments."
    arguments = call.get("arguments", [{}])
    if not isinstance(arguments, list) or not all(isinstance(item, Mapping | str) for item in arguments):
        yield f"{place}.arguments", "Arguments are a list, one table for each wording."


def _instead_mistakes(place: str, instead: Json) -> Iterator[Mistake]:
    if not isinstance(instead, Mapping):
        yield place, "What is decided instead is a table with 'say', 'call' or 'calls'."
        return
    odd = sorted({"when", "drift", "instead"} & set(instead))
    if odd:
        yield f"{place}.{odd[0]}", f"What is decided instead has no {odd[0]!r} of its own."
    yield from _said_mistakes(place, instead)


def _is_wording(said: Json) -> bool:
    if isinstance(said, list):
        return bool(said) and all(isinstance(wording, str) for wording in said)
    return isinstance(said, str) and bool(said)
