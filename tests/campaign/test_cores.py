"""A run takes a core for each cell at a time; several workers of pytest-xdist share them."""

from __future__ import annotations

import pytest

from ackgap.matrix_run import share_of_cores


@pytest.mark.parametrize(
    ("workers", "cores", "share"), [(None, 8, 8), ("1", 8, 8), ("2", 8, 4), ("3", 8, 2), ("16", 8, 1), ("odd", 2, 2)]
)
def test_workers_of_xdist_share_the_cores(workers, cores, share):
    environment = {} if workers is None else {"PYTEST_XDIST_WORKER_COUNT": workers}
    assert share_of_cores(environment, cores) == share
