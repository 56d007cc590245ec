"""What has to be there before a cell of a scenario can run: checked once, then lent to every pool of slots."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from ackgap.campaign.upstream import check_upstreams
from ackgap.errors import HarnessFailed
from ackgap.execute.containers.docker import check_nearness, connect
from ackgap.execute.containers.images import prepare_image
from ackgap.execute.containers.reaper import remove_run, sweep
from ackgap.execute.engines.known import check_engine
from ackgap.execute.forwarder import forwarding
from ackgap.execute.ground import CONTAINERS, Ground, clear_ground, prepare_ground
from ackgap.execute.isolation import can_isolate
from ackgap.execute.services.household import check_services
from ackgap.execute.services.toxiproxy import check_toxics
from ackgap.execute.workspace import OutsideState
from ackgap.scenario.scenario import Scenario
from ackgap.scenario.services import is_tcp_url
from ackgap.target.profiles.facts import chosen_protection, chosen_settings
from ackgap.target.profiles.profile import Profile, load_profile

__all__ = ["checked_profiles", "on_ground", "wants_isolation"]


def checked_profiles(scenario: Scenario) -> dict[str, Profile]:
    """Return the profile of each target, once everything that can be wrong before a run has been looked at.

    Raises:
        AckgapError: A profile cannot be read or lacks what is asked of it, or this machine lacks something.
    """
    profiles = {spec.name: load_profile(spec.profile) for spec in scenario.targets}
    _check_targets(scenario, profiles)
    check_upstreams(scenario)
    check_services(scenario.services)
    check_toxics(scenario)
    check_engine(scenario.engine)
    if scenario.worker.container is not None:
        with contextlib.closing(connect()) as api:
            check_nearness(api)
            prepare_image(api, scenario.worker.container)
    return profiles


@contextlib.contextmanager
def on_ground(scenario: Scenario) -> Iterator[Ground]:
    """Give a run its ground, with state outside of it saved and upstreams within reach; clear all of it away after."""
    ground = prepare_ground()
    if scenario.worker.container is not None:
        with contextlib.closing(connect()) as api:
            sweep(api)
        (ground.directory / CONTAINERS).touch()
    outside = OutsideState(scenario.worker.external_state, ground.directory / "outside")
    outside.save()
    try:
        with forwarding(scenario, ground.directory):
            yield ground
    finally:
        outside.restore()
        if scenario.worker.container is not None:
            remove_run(ground.run_token)
        clear_ground(ground)


def wants_isolation(scenario: Scenario, network: str) -> bool:
    """Return whether the workers are to get a network of their own.

    Raises:
        HarnessFailed: It was asked for and is not to be had.
    """
    if scenario.worker.container is not None:
        return False  # containers have a network without a way out, and the slot has to be able to reach it
    given = [service for service in scenario.services if is_tcp_url(service.url)]
    if network == "host" or (network == "auto" and (scenario.worker_hosts or given)):
        return False
    if given:
        raise HarnessFailed(
            f"in a network of its own a worker cannot reach the service {given[0].name!r}, which was given by its URL",
            where="--network isolated",
            next_step="use --network host, or let ackgap start the service",
        )
    possible = can_isolate()
    if network == "isolated" and not possible:
        raise HarnessFailed(
            "this machine does not let ackgap make a network namespace",
            where="--network isolated",
            next_step="run as root, or enable unprivileged user namespaces, or use --network host",
        )
    return possible


def _check_targets(scenario: Scenario, profiles: Mapping[str, Profile]) -> None:
    """Refuse protections and settings that a profile does not have, before anything runs.

    Raises:
        ScenarioInvalid: Names target and key.
    """
    for spec in scenario.targets:
        chosen_protection(profiles[spec.name], spec.name, spec.protection)
        chosen_settings(profiles[spec.name], spec.name, spec.settings)
        for value in (value for axis in scenario.axes for value in axis.values):
            chosen_protection(profiles[spec.name], spec.name, value.protections.get(spec.name))
            chosen_settings(profiles[spec.name], spec.name, {**spec.settings, **value.settings.get(spec.name, {})})
