"""C programs under the real recorder. A few patterns; all of them: `make bench-detection`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.detection import real
from tests.probes.recorder.programs import Recorder, recorder


@pytest.fixture(scope="module")
def installed() -> Recorder:
    return recorder()


@pytest.fixture(scope="module")
def program(installed: Recorder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed.compiled(real.SOURCE, tmp_path_factory.mktemp("manual"))


@pytest.mark.mpi
@pytest.mark.parametrize(
    "pattern",
    ["bcast_scatter_allgather", "gather_columns", "allreduce_linear", "barrier_linear", "workers"],
)
def test_what_is_made_by_hand(installed: Recorder, program: Path, pattern: str) -> None:
    assert real.found(installed, program, pattern, 4) == real.truth(pattern)
