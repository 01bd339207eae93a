"""Cold caches: how much is displaced, where buffers are, and that it shows."""

from __future__ import annotations

import itertools
import statistics
from pathlib import Path

import pytest

from tests.probes.launch import Launch, Probe

pytestmark = pytest.mark.mpi
LINUX = Path("/sys/devices/system/cpu/cpu0/cache")


def kernel_caches() -> list[tuple[int, bool]]:
    """Bytes of each data cache of the first core, and whether it has it to itself."""
    found = []
    threads = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list").read_text()
    for level in sorted(LINUX.glob("index*")):
        if (level / "type").read_text().strip() == "Instruction":
            continue
        size = (level / "size").read_text().strip()
        number = int(size.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(size[-1], 0)
        found.append((number, (level / "shared_cpu_list").read_text() == threads))
    return found


def test_sizes_are_those_of_the_machine(probe: Probe) -> None:
    """Against the kernel's own description, which hwloc reads on most machines too."""
    caches = kernel_caches() if LINUX.is_dir() else []
    if not any(alone for _, alone in caches):
        pytest.skip("the kernel does not say what caches the cores have")
    private = max(size for size, alone in caches if alone)
    line = "case id=0 function=MPI_Bcast bytes=8 reps=2"
    assert probe.run(f"set blocks=1\n{line}").header.cache.mode == "warm"
    overwrite = probe.run(f"set blocks=1 cache=overwrite\n{line}").header.cache
    assert overwrite.mode == "overwrite" and overwrite.bytes >= private
    cycle = probe.run(f"set blocks=1 cache=cycle\n{line}").header.cache
    assert cycle.mode == "cycle" and cycle.bytes >= 2 * private
    asked = probe.run(f"set blocks=1 cache=cycle:1000000\n{line}").header.cache
    assert asked.mode == "cycle" and asked.bytes == 1003520  # whole pages


def calls(probe: Probe, library: Path, lines: str, ranks: int) -> tuple[Launch, list[list[int]]]:
    """Each rank's buffers after those of the checks: start, bytes, all zero."""
    out = probe.folder / "addresses"
    launch = probe.good(
        lines, ranks, {"LD_PRELOAD": str(library), "PLUMBLINE_TEST_ADDRESSES": str(out)}
    )
    assert {check.outcome for check in launch.checks.values()} == {"ok"}
    found = []
    for rank in range(ranks):
        rows = [line.split() for line in Path(f"{out}.{rank}").read_text().splitlines()]
        checked = {row[0] for row in rows[: len(launch.cases)]}  # where every check receives
        timed = [row for row in rows if row[0] not in checked] or rows
        found.append([[int(a, 16), int(b), int(c)] for a, b, c in timed])
    return launch, found  # type: ignore[return-value]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_repetition_has_buffers_of_its_own(probe: Probe, addresses: Path, ranks: int) -> None:
    """On every rank: no byte is used again before the area is at its end, and what is in it is
    zero, whatever type computed on it before."""
    launch, found = calls(
        probe,
        addresses,
        "set blocks=3 warmup=4 rewarm=2 cache=cycle\n"
        "case id=0 function=MPI_Bcast bytes=3000000 reps=9\n"
        "case id=1 function=MPI_Bcast bytes=1 reps=9\n"
        "case id=2 function=MPI_Bcast bytes=70000 type=MPI_DOUBLE reps=9 root=0\n",
        ranks,
    )
    for rows in found:
        assert len(rows) == 3 * (13 + 11 + 11)
        assert all(zero for _, _, zero in rows)
        first = min(start for start, _, _ in rows)
        assert max(start + size for start, size, _ in rows) - first <= launch.header.cache.bytes
        for (start, size, _), (after, _, _) in itertools.pairwise(rows):
            # On the next page, or at the beginning again.
            assert 0 < after - (start + size) + 1 <= 4096 or after - first < 4096
        starts = [start for start, _, _ in rows]
        turns = sum(later < earlier for earlier, later in itertools.pairwise(starts))
        wanted = 35 * 3000000 // launch.header.cache.bytes
        assert turns in (wanted, wanted + 1)


def test_warm_is_the_same_buffer_again(probe: Probe, addresses: Path) -> None:
    lines = "set blocks=2 warmup=3\ncase id=0 function=MPI_Reduce_local bytes=5000 reps=9"
    for mode in ("warm", "overwrite"):
        lines_ = lines.replace("set ", f"set cache={mode} ")
        _, (rows,) = calls(probe, addresses, lines_, 1)
        assert len({start for start, _, _ in rows}) == 1
        assert not any(zero for _, _, zero in rows)


def medians(probe: Probe, mode: str, case: str, ranks: int, seed: int) -> float:
    launch = probe.good(f"set seed={seed} blocks=3 cache={mode}\n{case} reps=20", ranks)
    return statistics.median(ns for record in launch.samples for ns in record.ns)


@pytest.mark.alone
@pytest.mark.parametrize(
    ("mode", "case", "ranks", "least"),
    [  # seen here: 12, 6.9 and 1.9
        ("cycle", "case id=0 function=MPI_Reduce_local bytes=16384", 1, 1.3),
        ("overwrite", "case id=0 function=MPI_Reduce_local bytes=16384", 1, 1.1),
        ("cycle", "case id=0 function=MPI_Bcast bytes=262144", 2, 1.05),
    ],
)
def test_cold_is_slower(probe: Probe, mode: str, case: str, ranks: int, least: float) -> None:
    """Paired by launches that follow each other; the effect is far larger than `least`."""
    ratios = [
        medians(probe, mode, case, ranks, seed) / medians(probe, "warm", case, ranks, seed)
        for seed in range(5)
    ]
    assert statistics.median(ratios) > least, ratios
