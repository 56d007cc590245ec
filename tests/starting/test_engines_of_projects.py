"""The agents of scenarios/engines, without their scenarios: what is read off them is what their author wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from looks import look_at

from ackgap.scenario.load import load_scenario

ENGINES = Path(__file__).parents[2] / "scenarios" / "engines"
NAMES = sorted(file.parent.name for file in ENGINES.glob("*/scenario.toml") if (file.parent / "worker.py").exists())


@pytest.fixture(scope="module", params=[*NAMES, "celery"])
def pair(request, tmp_path_factory):
    """An agent as its author described it, and as it is found."""
    directory = tmp_path_factory.mktemp(request.param) / request.param
    directory.mkdir()
    for file in (ENGINES / request.param).glob("*.py"):
        shutil.copy(file, directory)
    return load_scenario(ENGINES / request.param), look_at(directory)


def test_the_worker_is_found(pair):
    written, found = pair
    program = Path(written.worker.command[1]).name
    assert Path(found.scenario.worker.command[1]).name == program


def test_each_address_that_the_author_gave_is_given(pair):
    written, found = pair
    ours = {name for name, value in written.worker.env.items() if "{" in value}
    assert ours <= found.env.keys(), found.said("found")
    services = {name for name, value in written.worker.env.items() if ".url}" in value and "db." not in value}
    for name in services - {"REDIS_URL"}:
        assert found.env[name].startswith("{"), name
        assert found.env[name].endswith(".url}"), name


def test_servers_beside_the_worker_are_the_author_s(pair):
    written, found = pair
    assert [service.kind for service in found.scenario.services] == [service.kind for service in written.services]


def test_the_engine_that_can_be_asked_is_the_author_s(pair):
    written, found = pair
    assert (written.engine is None) == (found.scenario.engine is None)
    if written.engine is not None:
        assert found.scenario.engine is not None
        assert found.scenario.engine.kind == written.engine.kind
        assert found.scenario.engine.store == written.engine.store
        assert found.scenario.engine.workflow == written.engine.workflow


def test_whoever_hands_over_the_work_is_found(pair):
    written, found = pair
    assert (written.client is None) == (found.scenario.client is None)
    if written.client is not None:
        assert Path(found.scenario.client.command[1]).name == Path(written.client.command[1]).name


def test_nothing_has_to_be_edited(pair):
    _, found = pair
    assert found.remarks.edits == []
