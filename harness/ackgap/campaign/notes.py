"""What a reader of the results should know of a variant's probes: sentences for the notes of a run."""

from __future__ import annotations

from collections.abc import Iterator

from ackgap.model.event import EgressAttempted, Injector, InjectorReady, Note
from ackgap.model.expectation import Expectation
from ackgap.model.history import History

__all__ = ["assumed", "seen_in_probe"]

_SAID = {
    Injector.PRELOAD: "What the worker writes was seen by the preload library, which programs without the system's C "
    "library, and files that are changed through memory maps, pass by.",
    Injector.TRACE: "What the worker writes was seen by its system calls, which files that are changed through memory "
    "maps pass by.",
}


def seen_in_probe(history: History) -> Iterator[str]:
    """Yield whom the worker tried to reach in an undisturbed run, and what could not be seen of it."""
    for event in history.of(EgressAttempted):
        outcome = "allowed" if event.allowed else "refused"
        yield f"The worker tried to reach {event.whom}: {outcome}."
    for note in history.of(Note):
        if note.code == "unseen":
            yield f"{note.text[:1].upper()}{note.text[1:]}."
    for injector in sorted({event.injector for event in history.of(InjectorReady)} & _SAID.keys()):
        yield _SAID[injector]
    if history.of(InjectorReady):
        return
    if any(event.source is Injector.STORE for event in history.passages):
        yield (
            "No injector came up in the worker, so it was killed where the targets see it, and where it commits to a "
            "database in front of which it is understood. What it writes to files was not told apart."
        )
    else:
        yield (
            "No injector came up in the worker, so it was killed only where the targets see it: requests received "
            "and applied. What it writes to its own store was not told apart. That takes a Python worker, or for any "
            'other a C compiler (injector = "preload") or a kernel that lets system calls stand ("trace").'
        )


def assumed(expectation: Expectation) -> Iterator[str]:
    """Yield what was assumed of operations that nobody described, and what was not the same in both probes."""
    for facts in expectation.operations.values():
        if facts.identity_learned and facts.effectful:
            same = ", ".join(facts.identity) or "nothing"
            differing = ", ".join(facts.content_learned) or "nothing"
            why = "nobody described this operation"
            if not facts.undescribed:
                why = "an undisturbed run does several things that its usual identity does not tell apart"
            yield (
                f"{facts.name}: {why}, so its identity is assumed: the same in both undisturbed runs: {same}; "
                f"different: {differing}. --read and --expect override it."
            )
        if facts.unknown:
            target = facts.name.partition(".")[0]
            yield (
                f"{target}: nobody found out how the real service treats these, so the fake does what protects "
                f"least ({facts.protection}). {'; '.join(facts.unknown)}."
            )
    for text in expectation.nondeterministic:
        yield f"Not deterministic: {text}."
