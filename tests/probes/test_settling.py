"""A library that becomes faster with the calls that it gets: warm-up goes on until it has, within a
bound, and what was taken before a later change is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_db.probe_records import Transit
from tests.db.build import Block
from tests.probes.launch import Launch, Probe

pytestmark = pytest.mark.mpi

CASE = "case id=0 function=MPI_Bcast bytes=8 reps=4\n"
SECONDS = 1_000_000_000  # no call takes so long by itself, whoever else has the cores
CHECKED_HEAP, HEAP = "libc_malloc_debug.so.0", {"MALLOC_CHECK_": "3"}  # of the C library
SLOPE = {"LEARNING_NS": str(1000 * SECONDS), "LEARNING_PERCENT": "93"}


def launch(probe: Probe, learning: Path, lines: str, more: dict[str, str], ranks: int) -> Launch:
    found = probe.good(lines + CASE, ranks, {"LD_PRELOAD": str(learning)} | more)
    return found


def first(found: Launch) -> Block:
    return next(one for one in found.samples if one.block == 0)


@pytest.mark.parametrize("warmup", [4, 16])
def test_a_slope_is_waited_for(probe: Probe, learning: Path, warmup: int) -> None:
    """Each call takes 93 % of the one before, up to the 60th."""
    slope = SLOPE | {"LEARNING_CALLS": "60"}
    lines = f"set blocks=1 warmup={warmup} settle=100\n"
    found = first(launch(probe, learning, lines, slope, 1))
    assert found.settled and 59 <= len(found.warmup_ns) <= 80
    assert max(found.ns) < SECONDS < min(found.warmup_ns[:59]) and len(found.ns) == 4
    assert found.warmup_ns[:59] == sorted(found.warmup_ns[:59], reverse=True)


def test_not_longer_than_the_bound(probe: Probe, learning: Path) -> None:
    found = first(launch(probe, learning, "set blocks=1 settle=45\n", SLOPE, 1))
    assert not found.settled and len(found.warmup_ns) == 40  # 16 and twice 4 + 8


def test_nobody_waits_where_nobody_asked(probe: Probe, learning: Path) -> None:
    found = first(launch(probe, learning, "set blocks=1\n", SLOPE, 1))
    assert found.settled and len(found.warmup_ns) == 16


@pytest.mark.parametrize("ranks", [1, 3])
def test_what_has_settled_takes_no_more_calls(probe: Probe, learning: Path, ranks: int) -> None:
    steady = {"LEARNING_NS": str(1000 * SECONDS)}
    found = launch(probe, learning, "set blocks=12 settle=100\n", steady, ranks)
    assert first(found).settled and len(first(found).warmup_ns) == 16
    assert found.of(Transit) == []


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_step_after_warm_up_leaves_the_blocks_before_it_out(
    probe: Probe, learning: Path, ranks: int
) -> None:
    """The check, 16 calls to warm up and 4 samples, then 6 calls a block, and now and then a check:
    the 40th call is in block 3 or 2."""
    step = {"LEARNING_NS": str(1000 * SECONDS), "LEARNING_CALLS": "40"}
    found = launch(probe, learning, "set blocks=12 rewarm=2 settle=100\n", step, ranks)
    (transit,) = found.of(Transit)
    slow = [one.block for one in found.samples if min(one.ns) > SECONDS]
    assert slow and (transit.case, transit.blocks) in ((0, len(slow)), (0, len(slow) + 1))


def test_a_case_settles_by_more_calls_than_it_warmed_up_with(probe: Probe, learning: Path) -> None:
    """Eight at a time, each time with all samples: there was room for one and the samples, and the
    C library found its heap spoilt in the end."""
    few = "set blocks=2 warmup=1 rewarm=1 settle=250\n" + CASE.replace("reps=4", "reps=64")
    found = probe.good(few, 1, {"LD_PRELOAD": f"{CHECKED_HEAP}:{learning}", **HEAP} | SLOPE)
    assert len(first(found).ns) == 64 and len(first(found).warmup_ns) > 64
