"""The volumes of the calls that mock-ups make, as the preload library sees them, lie where
core/winner.py takes them to be: what a winner can change rests on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.core import guidelines
from plumbline.core.winner import PADDING_BYTES
from plumbline.results import profiling
from tests.probes.launch import Probe

pytestmark = pytest.mark.mpi

GUIDELINES = guidelines.load()
MOCKUPS = sorted(
    {
        (pattern.lhs, pattern.variant)
        for pattern in GUIDELINES.patterns
        if guidelines.calls(pattern.lhs, pattern.variant)
    }
)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 5])
@pytest.mark.parametrize("size", [4, 4096])
def test_calls_inside_a_mockup_are_near_its_volume(
    probe: Probe, build: Path, tmp_path: Path, ranks: int, size: int
) -> None:
    cases = "".join(
        f"case id={number} function={function} variant={variant} bytes={size} reps=1 type=MPI_INT\n"
        for number, (function, variant) in enumerate(MOCKUPS)
    )
    folder = tmp_path / "calls"
    folder.mkdir()
    environment = {"LD_PRELOAD": str(build / "libplumbline.so"), "PLUMBLINE_CALLS": str(folder)}
    launch = probe.run(f"set blocks=1 warmup=0\n{cases}", ranks, environment)
    assert launch.code == 0, launch.stderr
    called = {name for mockup in MOCKUPS for name in guidelines.calls(*mockup) or ()}
    volumes = {
        (key[0], key[4])
        for rank in profiling.ranks(folder)
        for key in rank.calls
        if key[0] in called - {"MPI_Barrier"}
    }
    assert {name for name, _ in volumes} > {"MPI_Bcast", "MPI_Allreduce", "MPI_Alltoall"}
    far = {one for one in volumes if not abs(one[1] - size) <= ranks * PADDING_BYTES}
    assert not far
    if size > ranks * PADDING_BYTES:
        assert all(volume > 0 for _, volume in volumes)
