"""The tests that take longest, and an order in which no process of pytest-xdist is left with one of them at the end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

__all__ = ["LONGEST_S", "longest_first"]

_ENGINE = "acceptance/test_engines.py::test_the_verdicts_of_an_engine_are_the_documented_ones"
_ADAPTERS = "acceptance/test_engine_adapters.py"
_REPORT = "acceptance/test_reports.py::test_the_verdicts_of_a_report_are_the_documented_ones"
LONGEST_S = {
    "selfcheck/test_selfcheck.py::test_every_broken_agent_is_caught_and_nothing_else": 240,
    f"{_ENGINE}[temporal]": 216,
    f"{_ENGINE}[prefect]": 210,
    f"{_ENGINE}[dbos-postgres]": 191,
    f"{_ENGINE}[pydantic-ai]": 112,
    "acceptance/test_parts.py::test_the_parts_of_a_run_are_together_what_the_whole_is": 112,
    f"{_ENGINE}[pydantic-ai-temporal]": 100,
    f"{_ENGINE}[langgraph-postgres]": 94,
    f"{_REPORT}[dbos-crash-loop-is-parked]": 89,
    f"{_ENGINE}[openai-agents]": 85,
    f"{_REPORT}[dbos-dedup-id-forgets]": 85,
    "acceptance/test_exploration.py::test_two_crashes_of_the_flagship_outlast_a_key_that_one_does_not": 84,
    "acceptance/test_mcp.py::test_an_agent_over_streamable_http_is_killed_at_every_phase_of_a_tool_s_call": 84,
    f"{_ADAPTERS}::test_temporal_recovers_at_once_as_it_would_have_after_its_time_outs": 84,
    f"{_ENGINE}[celery]": 81,
    f"{_ENGINE}[dbos]": 79,
    "execute/test_warm.py::test_warm_and_plain_agree_on_the_known_answers": 71,
    f"{_ENGINE}[langgraph-functional-postgres]": 63,
    "acceptance/test_search.py::test_a_bug_that_needs_two_faults_is_found_shrunk_and_shown_again": 59,
    "acceptance/test_clients.py::test_the_verdicts_of_a_worker_on_an_official_client": 50,
    _ENGINE: 49,
    f"{_ADAPTERS}::test_what_is_shortened_is_said_and_the_verdicts_are_those_of_the_engines_own_times": 40,
    _REPORT: 30,
}
"""Seconds, in CI, by the name of a test below `tests`; without its parameters for those that are not named."""


def longest_first(items: Sequence[pytest.Item], processes: int) -> list[pytest.Item]:
    """Return the tests in an order that suits `--dist worksteal`, which gives each process an equal part of the list.

    Each part begins with its share of the longest; the others keep their order, since they share fixtures.
    """
    shares: list[list[pytest.Item]] = [[] for _ in range(processes)]
    taken_s = [0.0] * processes
    for item in sorted(items, key=_seconds, reverse=True):
        if seconds := _seconds(item):
            least = taken_s.index(min(taken_s))
            shares[least].append(item)
            taken_s[least] += seconds
    others = [item for item in items if not _seconds(item)]
    ordered: list[pytest.Item] = []
    for number, share in enumerate(shares):
        size = (len(items) - len(ordered)) // (processes - number)
        rest = max(0, size - len(share))
        ordered += [*share, *others[:rest]]
        del others[:rest]
    return ordered + others


def _seconds(item: pytest.Item) -> float:
    name = item.nodeid.removeprefix("tests/")
    return LONGEST_S.get(name) or LONGEST_S.get(name.partition("[")[0], 0)
