"""The hint after a long run."""

from __future__ import annotations

import io

from rich.console import Console

from ackgap.cli.run import _can_be_warm, _hint
from ackgap.scenario.load import load_scenario


def told(*, cells: int, took_s: float) -> str:
    screen = io.StringIO()
    _hint(Console(file=screen, width=40), cells=cells, took_s=took_s)
    return screen.getvalue().strip()


def test_a_long_run_is_told_what_would_have_made_it_shorter():
    assert told(cells=80, took_s=95.4) == ("80 cells in 95 s; --warm forks Python workers and is several times faster")


def test_a_short_run_is_told_nothing():
    assert told(cells=80, took_s=30.0) == ""


def test_what_cannot_be_warm_is_told_nothing_of_it(tmp_path):
    def scenario(worker):
        file = tmp_path / "scenario.toml"
        file.write_text(f'name = "a"\n[worker]\n{worker}\n[targets.tickets]\nprofile = "case-management"\n')
        return load_scenario(file)

    assert _can_be_warm(scenario('command = "python -V"'))
    assert not _can_be_warm(scenario('command = "sh -c true"'))
    assert not _can_be_warm(scenario('image = "some:1"\ncommand = "python -V"'))
