"""A database that is understood on the wire, as a scenario file asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackgap.errors import ScenarioInvalid
from ackgap.scenario.load import load_scenario
from ackgap.scenario.scenario import Scenario

HEAD = """
name = "wire"
[worker]
command = "python worker.py"
env = { CA = "{db.ca}" }
[targets.tickets]
profile = "any"
[services.db]
"""


def load(tmp_path: Path, service: str) -> Scenario:
    (tmp_path / "worker.py").touch()
    file = tmp_path / "scenario.toml"
    file.write_text(HEAD + service)
    return load_scenario(file)


def test_a_service_on_the_wire_has_patterns_and_a_certificate(tmp_path):
    scenario = load(tmp_path, 'kind = "postgres"\nwire = true\npark = ["insert into outbox"]')
    (service,) = scenario.services
    assert service.wire
    assert service.park == ("insert into outbox",)
    assert "ca" in service.parts


@pytest.mark.parametrize(
    ("service", "key", "said"),
    [
        ('kind = "redis"\nwire = true', "services.db.wire", "is not understood"),
        ('kind = "postgres"\npark = ["insert"]', "services.db.park", "statements that nobody reads"),
        ('kind = "postgres"\npark = [""]', "services.db.park", ""),
        ('kind = "postgres"', "worker.env.CA", "'db' has no 'ca'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(tmp_path, service, key, said):
    with pytest.raises(ScenarioInvalid) as refused:
        load(tmp_path, service)
    assert key in str(refused.value)
    assert said in str(refused.value)
