"""A planted delay is in the record, and in the times of its case alone."""

from __future__ import annotations

import pytest

from tests import busy
from tests.probes.launch import Probe

pytestmark = pytest.mark.mpi

PLAN = """set blocks=20 warmup=2 rewarm=1
case id=0 function=MPI_Bcast bytes=8 reps=10
case id=1 function=MPI_Bcast bytes=8 reps=10 delay_ns=300000
case id=2 function=MPI_Barrier bytes=0 reps=10 delay_ns=40000
case id=3 function=MPI_Barrier bytes=0 reps=10
"""


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_times_grow_by_the_delay(probe: Probe, ranks: int) -> None:
    """The least of 200 samples: whoever else runs here only lengthens single ones. With more ranks
    than cores a rank may also wait for others' delays."""

    def check() -> None:
        launch = probe.run(PLAN, ranks)
        if launch.code != 0:
            pytest.fail(launch.stderr)
        assert [launch.cases[i].delay_ns for i in range(4)] == [0, 300_000, 40_000, 0]
        least = [min(min(one.ns) for one in launch.samples if one.case == i) for i in range(4)]
        for slow, fast, delay in ((1, 0, 300_000), (2, 3, 40_000)):
            grown = least[slow] - least[fast]
            assert delay * 0.7 < grown < delay * (1.5 if ranks <= 2 else 1.5 * ranks)

    busy.patiently(check, 3)
