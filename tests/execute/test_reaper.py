"""What is taken away of what runs have left in a Docker engine, and what is left alone."""

from __future__ import annotations

import psutil
import pytest

from ackgap.errors import EnvironmentLacks
from ackgap.execute.containers import reaper
from ackgap.execute.containers.docker import check_nearness, labels_of

ME = psutil.Process()
ALIVE = labels_of("aaa", owner=f"{ME.pid}:{ME.create_time()}", slot=1)
DEAD = labels_of("bbb", owner="999999999:1.5", slot=1)
SUCCESSOR = labels_of("ccc", owner=f"{ME.pid}:{ME.create_time() - 3600}", slot=1)
"""Of a harness whose process number has been given to another."""
ELSEWHERE = {**DEAD, "ackgap.machine": "another"}
NONSENSE = {**DEAD, "ackgap.owner": "who knows"}


class Engine:
    """Has one container, network and volume for each set of labels."""

    def __init__(self, *labels):
        self.things = {
            kind: {f"{kind}{number}": each for number, each in enumerate(labels)}
            for kind in ("container", "network", "volume")
        }
        self.members = {}
        self.order = []

    def _listed(self, kind, name, filters):
        key, _, value = filters["label"].partition("=")
        found = self.things[kind].items()
        return [{name: one, "Labels": labels} for one, labels in found if labels.get(key) == (value or labels.get(key))]

    def containers(self, *, filters, **_):
        return self._listed("container", "Id", filters)

    def networks(self, *, filters):
        return self._listed("network", "Id", filters)

    def volumes(self, *, filters):
        return {"Volumes": self._listed("volume", "Name", filters) or None}

    def remove_container(self, name, *, force, v):
        self._removed("container", name)

    def remove_network(self, name):
        if self.members.get(name):
            raise RuntimeError("it is in use")
        self._removed("network", name)

    def remove_volume(self, name, *, force):
        self._removed("volume", name)

    def inspect_network(self, name):
        return {"Containers": self.members.get(name)}

    def disconnect_container_from_network(self, container, network, *, force):
        self.members[network].remove(container)

    def close(self):
        pass

    def _removed(self, kind, name):
        del self.things[kind][name]
        self.order.append(kind)


@pytest.mark.parametrize("labels", [DEAD, SUCCESSOR, NONSENSE])
def test_what_a_dead_harness_has_left_goes_and_its_network_last_of_what_uses_it(labels):
    engine = Engine(labels)
    assert len(reaper.sweep(engine)) == 3
    assert engine.order == ["container", "network", "volume"]
    assert reaper.sweep(engine) == []


@pytest.mark.parametrize("labels", [ALIVE, ELSEWHERE])
def test_what_belongs_to_a_living_harness_or_to_another_machine_stays(labels):
    engine = Engine(labels, DEAD)
    reaper.sweep(engine)
    assert [list(found.values()) for found in engine.things.values()] == [[labels]] * 3


def test_a_network_that_somebody_elses_container_is_in_is_emptied_first():
    engine = Engine(DEAD)
    engine.members["network0"] = ["a container of the user's"]
    reaper.sweep(engine)
    assert engine.things["network"] == {}


def test_a_slot_that_ends_takes_only_its_own_away(monkeypatch):
    other = {**ALIVE, "ackgap.slot": "2"}
    engine = Engine(ALIVE, other)
    monkeypatch.setattr(reaper, "connect", lambda limit_s: engine)
    reaper.remove_run("aaa", slot=1)
    assert [list(found.values()) for found in engine.things.values()] == [[other]] * 3
    reaper.remove_run("aaa")
    assert not any(engine.things.values())


def test_an_engine_that_does_not_answer_any_more_stops_nobody_from_ending(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/gone")
    reaper.remove_run("aaa")


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({"SecurityOptions": ["name=seccomp,profile=default", "name=rootless"]}, "rootless"),
        ({"OperatingSystem": "Docker Desktop"}, "a virtual machine"),
    ],
)
def test_an_engine_whose_networks_are_elsewhere_is_refused(info, said):
    engine = Engine()
    engine.info = lambda: info
    with pytest.raises(EnvironmentLacks, match=said):
        check_nearness(engine)


def test_an_engine_of_the_system_is_near():
    engine = Engine()
    engine.info = lambda: {"SecurityOptions": ["name=seccomp,profile=default"], "OperatingSystem": "Debian"}
    check_nearness(engine)
