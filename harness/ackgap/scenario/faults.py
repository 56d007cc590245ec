"""Whether a fault can be done in a scenario: what it names has to be there."""

from __future__ import annotations

from ackgap.model.manner import Manner
from ackgap.scenario.scenario import Scenario
from ackgap.scenario.words import did_you_mean

__all__ = ["fault_mistake"]


def fault_mistake(scenario: Scenario, manner: Manner) -> tuple[str, str] | None:
    """Return what is wrong with a fault in a scenario, and what to do; None where nothing is."""
    if manner.release and manner.release not in (names := [release.name for release in scenario.releases]):
        return (
            f"There is no release {manner.release!r} that could follow; {did_you_mean(manner.release, names)}.",
            f"Name one of this scenario's, or write [releases.{manner.release}].",
        )
    if manner.name and manner.name not in (names := [toxic.name for toxic in scenario.toxics]):
        return (
            f"There is no toxic {manner.name!r} that could be switched on; {did_you_mean(manner.name, names)}.",
            f"Name one of this scenario's, or write [toxics.{manner.name}].",
        )
    if manner.heirs > 1 and scenario.toxics:
        return (
            "Behind Toxiproxy the calls of two lives that begin at once cannot be told apart.",
            "Leave out heirs, or the scenario's [toxics].",
        )
    if manner.kind.needs_container and scenario.worker.container is None:
        return (
            f"{str(manner.kind)!r} can be done only to a worker in a container.",
            "Name its image with worker.image, or a folder with a Dockerfile with worker.build.",
        )
    if not manner.without:
        return None
    names = [service.name for service in scenario.services]
    if manner.without not in names:
        return (
            f"There is no service {manner.without!r} that could be stopped; {did_you_mean(manner.without, names)}.",
            f"Name one of this scenario's, or write [services.{manner.without}].",
        )
    if next(service for service in scenario.services if service.name == manner.without).url is not None:
        return (
            f"The service {manner.without!r} was given by its URL, so ackgap cannot stop it.",
            "Let ackgap start it: remove its url.",
        )
    return None
