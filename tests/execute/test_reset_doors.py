"""Where targets stand in front of real services, the reset command runs outside, in the environment of the variant."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from ackgap.execute.forwarder import forwarding, knock, reset_door_of
from ackgap.scenario.environment import EnvironmentSpec
from ackgap.scenario.scenario import Scenario, TargetSpec, WorkerSpec


def test_there_is_a_door_for_each_environment_that_was_made(tmp_path):
    python = tmp_path / "made" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$VIRTUAL_ENV $(command -v python) $*"\n')
    python.chmod(0o755)
    old = EnvironmentSpec(name="old", requirements=("x",), folder=tmp_path, directory=tmp_path / "made")
    never = EnvironmentSpec(name="never", requirements=("x",), folder=tmp_path)
    scenario = Scenario(
        name="doors",
        worker=WorkerSpec(command=("python", "agent.py"), directory=tmp_path, reset=("python", "-c", "print('own')")),
        targets=(TargetSpec(name="tickets", profile="any", upstream="http://127.0.0.1:9"),),
        environments=(never, old),
    )
    with tempfile.TemporaryDirectory() as short, forwarding(scenario, Path(short)):
        doors = [reset_door_of(Path(short), scenario, home) for home in (None, old, never)]
        assert [door.exists() for door in doors] == [True, True, False]
        assert asyncio.run(knock(doors[0])) == (0, "own\n")
        assert asyncio.run(knock(doors[1])) == (0, f"{tmp_path / 'made'} {python} -c print('own')\n")
