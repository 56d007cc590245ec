"""Interposer: a target that stands in front of a real service, or of what was recorded of one.

It takes the engine's place: what becomes of a request is what the service answered. The phases, the attempts and the
ledger around it are those of every target.

What a service did is not visible from outside, so it is read off its answers, and what cannot be known is said:

- a success of an operation with an effect is an effect, unless the answer speaks of an object that it spoke of before;
- an answer that names no object tells no first time from a repeat: it is counted, and marked as assumed;
- no answer, or an error of the service itself, leaves open what it did: such a run proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ackgap.errors import HarnessFailed
from ackgap.model.event import Decision, Json
from ackgap.target.engine import Engine, Handled
from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.profile import Match
from ackgap.target.upstream.answer import decoded, is_marked_as_repeat, object_id_in, says_no, tokens_cost
from ackgap.target.upstream.live import LiveUpstream, Said, UpstreamFailed, asked_of
from ackgap.target.upstream.playback import Player, nearest
from ackgap.target.upstream.recording import (
    Recorded,
    RecordingWriter,
    Situation,
    Tally,
    described,
    fingerprint_of,
    in_this_cell,
)
from ackgap.target.wire.answer import Answer
from ackgap.target.wire.connection import RawRequest
from ackgap.target.wire.request import Request
from ackgap.target.wire.secrets import is_secret

__all__ = ["Interposer", "ObjectMemory"]

Noted = Callable[[str, str], None]
"""Takes the code and the text of a remark for the history."""

_BAD_GATEWAY = 502
_NOT_IMPLEMENTED = 501
_LONGEST_SECRET = 4096
_SHORTEST_SECRET = 8


class ObjectMemory:
    """Which objects earlier cells of a run have made upstream: a real service keeps its state from cell to cell.

    Args:
        path: Of a file that all slots of the run share.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_known(self, cell: str, operation: str, object_id: str) -> bool:
        """Whether another cell was given that object; it is remembered for this one."""
        line = json.dumps([cell, operation, object_id])
        known = False
        try:
            with self._path.open("a+", encoding="utf-8") as file:
                file.seek(0)
                for other in file:
                    if other.endswith("\n"):
                        whose, what, which = json.loads(other)
                        known = known or (whose != cell and what == operation and which == object_id)
                file.write(line + "\n")
        except OSError as error:
            raise HarnessFailed(f"cannot be written: {error.strerror or error}", where=str(self._path)) from error
        return known


@dataclass(slots=True, kw_only=True)
class Interposer:
    """Decides about the attempts of one cell by asking an upstream.

    Args:
        source: The service, or a player of what was recorded of it.
        cell: Name of the cell.
        own_words: Text that is another in each cell, for `{cell}`.
        own_url: The target's own address, which stands for the upstream's in addresses that an answer sends to.
        memory: What earlier cells were given; None where the service forgets between cells.
        writer: Where answers are recorded.
        known: Secrets that the worker was given, longest first; they are not recorded.
    """

    source: LiveUpstream | Player
    cell: str
    own_words: str = ""
    own_url: str = ""
    memory: ObjectMemory | None = None
    writer: RecordingWriter | None = None
    known: tuple[str, ...] = ()
    _tally: Tally = field(default_factory=Tally)
    _objects: set[tuple[str, str]] = field(default_factory=set)
    _keys: set[tuple[str, str]] = field(default_factory=set)
    _written: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def limit_s(self) -> float:
        """How long a request that has gone on may take to come back, in real seconds."""
        return self.source.limit_s if isinstance(self.source, LiveUpstream) else 0.0

    async def decide(
        self,
        engine: Engine,
        match: Match,
        request: Request,
        raw: RawRequest | None,
        *,
        incarnation: int,
        key: str | None,
        noted: Noted,
    ) -> Handled:
        """Hand a request on and return what came of it.

        Args:
            engine: Of the target: its names, settings and shapes of errors.
            match: The operation that the request means.
            request: As it was read.
            raw: As it came; None where it came in another protocol's envelope.
            incarnation: The life that sent it.
            key: The idempotency key that it carries.
            noted: Takes remarks for the history.
        """
        operation = match.operation
        shown = described(request, cell=self.own_words, key=key, known=self.known)
        situation = self._tally.situation(operation.name, fingerprint_of(shown), key)
        if isinstance(self.source, Player):
            handled = self._play(self.source, engine, operation, shown, situation, incarnation, noted)
            return self._with_identity(engine, operation, request, handled)
        try:
            said = await self.source.ask(asked_of(request, raw))
        except UpstreamFailed as failed:
            noted("upstream_failed", str(failed))
            answer = replace(engine.error("unavailable", path=request.path), status=_BAD_GATEWAY)
            return Handled(decision=Decision.REJECTED, rule=f"no answer of the upstream: {failed}", answer=answer)
        handled = self._with_identity(
            engine, operation, request, self._read(engine, operation, request, said, key, noted)
        )
        if handled.effect_object_id is not None:
            self._tally.applied(situation)
        if self.writer is not None:
            recorded = Recorded(
                cell=self.cell,
                incarnation=incarnation,
                operation=operation.name,
                request=shown,
                situation=situation,
                said=said,
                decision=handled.decision,
                rule=handled.rule,
                object_id=handled.answer.object_id,
            )
            self.writer.write(recorded, secrets=(*self.known, *_secrets_of(request)))
        return handled

    # ------------------------------------------------------------- the service

    def _read(
        self, engine: Engine, operation: Operation, request: Request, said: Said, key: str | None, noted: Noted
    ) -> Handled:
        payload = decoded(said)
        object_id = object_id_in(operation, request, said, payload)
        answer = self._answer(said, object_id)
        cost = _cost(engine, operation, said)
        if not engine.is_effectful(operation):
            rule = f"a read; the upstream answered {said.status}"
            return Handled(decision=Decision.READ, rule=rule, answer=answer, cost=cost)
        refused = says_no(said, payload, graphql=engine.profile.graphql)
        if refused:
            if said.status >= 500:
                noted(
                    "upstream_unclear",
                    f"{engine.target}.{operation.name}: {refused}, and whether it did anything cannot be known",
                )
            return Handled(decision=Decision.REJECTED, rule=refused, answer=answer, cost=cost)
        repeat = self._repeat(engine, operation, request, said, object_id, key)
        if repeat is not None:
            return Handled(decision=repeat[0], rule=repeat[1], answer=answer, cost=cost)
        rule = f"the upstream answered {said.status}"
        if object_id:
            self._remember(engine, operation, object_id, noted)
        elif not _leaves_one_state(operation, request):
            rule += " and named no object: assumed"
            noted("effect_assumed", f"{engine.target}.{operation.name}")
        return Handled(decision=Decision.APPLIED, rule=rule, answer=answer, cost=cost, effect_object_id=object_id)

    def _with_identity(self, engine: Engine, operation: Operation, request: Request, handled: Handled) -> Handled:
        applied = handled.effect_object_id is not None
        return replace(handled, identity=engine.identity_of(operation, request)) if applied else handled

    def _repeat(
        self, engine: Engine, operation: Operation, request: Request, said: Said, object_id: str, key: str | None
    ) -> tuple[Decision, str] | None:
        """Return how it shows that a success was no effect; None where nothing shows."""
        same_key = key is not None and (operation.name, key) in self._keys
        if key is not None:
            self._keys.add((operation.name, key))
        if is_marked_as_repeat(engine.profile, said):
            return Decision.REPLAYED, "the upstream marks its answer as given before"
        if _leaves_one_state(operation, request):
            place = (operation.name, request.path + json.dumps(request.query, sort_keys=True))
            before, now = self._written.get(place), request.digest if request.method != "DELETE" else "deleted"
            for other in [other for other in self._written if other[1] == place[1]]:
                del self._written[other]
            self._written[place] = now
            return (Decision.EXISTING, "it is like that already") if before == now else None
        if object_id and (operation.name, object_id) in self._objects:
            decision = Decision.REPLAYED if same_key else Decision.EXISTING
            return decision, "the upstream gave the same object again"
        return None

    def _remember(self, engine: Engine, operation: Operation, object_id: str, noted: Noted) -> None:
        self._objects.add((operation.name, object_id))
        name = f"{engine.target}.{operation.name}"
        if self.memory is not None and self.memory.is_known(self.own_words, name, object_id):
            noted(
                "known_before",
                f"{name} was answered with {object_id}, which an earlier cell had made: the service keeps its state "
                "between cells, and the worker's references or keys are the same in each. Put {cell} into them with "
                "env, or reset the service with worker.reset",
            )

    def _answer(self, said: Said, object_id: str) -> Answer:
        headers = said.headers
        if isinstance(self.source, LiveUpstream) and self.own_url:
            upstream = self.source.url
            headers = tuple(
                (name, self.own_url + value.removeprefix(upstream))
                if name.lower() in ("location", "content-location") and value.startswith(upstream)
                else (name, value)
                for name, value in headers
            )
        return Answer(
            status=said.status, headers=headers, parts=said.parts, streamed=said.streamed, object_id=object_id
        )

    # ----------------------------------------------------------- the recording

    def _play(
        self,
        player: Player,
        engine: Engine,
        operation: Operation,
        shown: dict[str, Json],
        situation: Situation,
        incarnation: int,
        noted: Noted,
    ) -> Handled:
        found = player.find(operation.name, situation, incarnation)
        name = f"{engine.target}.{operation.name}"
        if found is None:
            why = nearest(player.recording, operation.name, shown, situation)
            noted("not_recorded", f"{name} ({shown['method']} {shown['path']}): {why}")
            problem = "this request was not recorded"
            answer = replace(engine.error("invalid", problem=problem), status=_NOT_IMPLEMENTED)
            return Handled(decision=Decision.REJECTED, rule=f"it was not recorded: {why}", answer=answer)
        said = in_this_cell(found.said, self.own_words)
        answer = self._answer(said, found.object_id)
        cost = _cost(engine, operation, said)
        if not engine.is_effectful(operation):
            return Handled(decision=Decision.READ, rule="as recorded", answer=answer, cost=cost)
        handled = Handled(decision=found.decision, rule=f"as recorded: {found.rule}", answer=answer, cost=cost)
        if found.decision is not Decision.APPLIED:
            return handled
        self._tally.applied(situation)
        if found.rule.endswith("assumed"):
            noted("effect_assumed", name)
        return replace(handled, effect_object_id=found.object_id)


def _leaves_one_state(operation: Operation, request: Request) -> bool:
    """Whether doing it twice leaves what doing it once does, at an address that the request names."""
    if operation.does in ("put", "upsert"):
        return request.method == "PUT"
    return operation.does == "delete" and request.method == "DELETE"


def _cost(engine: Engine, operation: Operation, said: Said) -> float:
    if not operation.paid or said.status >= 400:
        return 0.0
    tokens = tokens_cost(engine.settings, said)
    if tokens is not None:
        return tokens
    price = engine.settings.get("price")
    return float(price) if isinstance(price, int | float) else operation.price


def _secrets_of(request: Request) -> tuple[str, ...]:
    """Return what a request proves itself with, longest first."""
    found: set[str] = set()
    for name, value in request.headers.items():
        if is_secret(name, value):
            found |= {value, *value.replace(",", " ").split()}
    return tuple(
        sorted((text for text in found if _SHORTEST_SECRET <= len(text) <= _LONGEST_SECRET), key=len, reverse=True)
    )
