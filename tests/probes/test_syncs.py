"""Start schemes: who may begin when, what is invalid, and what is done about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_db.probe_records import ClockSync
from tests import busy
from tests.probes.launch import Launch, Probe, listed
from tests.sampled import by_default

pytestmark = pytest.mark.mpi

LAUNCHES = 3
TOGETHER = ("barrier", "dissemination", "window window_us=20000", "roundtime")


def slow_rank(probe: Probe, settings: str, ranks: int, reps: int = 12) -> Launch:
    """Rank 1 sleeps 3 ms in a call that sends nothing: only the scheme keeps ranks together."""
    return probe.good(
        f"set warmup=0 {settings if 'blocks=' in settings else 'blocks=1 ' + settings}\n"
        f"case id=0 function=MPI_Reduce_local bytes=8 reps={reps}\n",
        ranks,
        probe.slow(1),
    )


def test_the_probe_names_them(probe: Probe) -> None:
    assert probe.known()["syncs"] == listed("sync/syncs.def")


@pytest.mark.parametrize("ranks", by_default([2, 5], [4]))
@pytest.mark.parametrize("sync", TOGETHER)
def test_nobody_starts_before_all_are_ready(probe: Probe, sync: str, ranks: int) -> None:
    """From first start to last end it is 3 ms, and not also those of the repetitions before. Who
    has lost its core while it waited is late: under load few windows are valid."""
    ns: list[int] = []
    for _ in range(LAUNCHES):
        launch = slow_rank(probe, f"runtime=global sync={sync}", ranks, 40)
        ns += launch.samples[0].ns[3:]
        if ns:
            break
    if not ns:
        busy.undecided("every start was late")
    assert min(ns) >= 2_999_000
    if min(ns) >= 9_000_000:  # without a scheme it is 12 ms there, and more
        busy.undecided(f"{min(ns)} ns at least")
    assert bool(launch.header.clock.shared) and launch.header.sync == sync.split()[0]


@pytest.mark.parametrize("ranks", by_default([4], [2]))
def test_without_a_scheme_ranks_drift_apart(probe: Probe, ranks: int) -> None:
    def check() -> None:
        apart = slow_rank(probe, "runtime=global sync=none", ranks).samples[0].ns
        assert max(apart) > 20_000_000  # twelve calls of rank 1, none of the others
        local = slow_rank(probe, "runtime=local sync=none", ranks).samples[0].ns
        assert 2_999_000 <= min(local) < 9_000_000

    busy.patiently(check, LAUNCHES)


@pytest.mark.parametrize("ranks", by_default([2, 5], [4]))
def test_windows_that_are_too_short(probe: Probe, ranks: int) -> None:
    """Windows of 1 ms, calls of 3 ms: a call overruns, and the next start has passed when it ends.
    Both are counted, what began late is no sample, and the window grows until the call fits.
    Launches must show all of it between them: with its cores taken by others, a rank is always
    late."""
    overrun = late = samples = 0
    for _ in range(4 * LAUNCHES):
        record = slow_rank(probe, "sync=window window_us=1000", ranks, reps=40).samples[0]
        assert len(record.ns) + record.late == 40 or record.budget_spent
        assert record.window_ns >= 4_000_000
        assert record.overrun <= len(record.ns)
        assert not record.ns or min(record.ns) >= 2_999_000
        overrun, late = overrun + record.overrun, late + record.late
        samples += len(record.ns)
        if overrun and late and samples:
            return
    assert late and samples
    busy.undecided("every start was late before a call could overrun")


@pytest.mark.parametrize("ranks", by_default([2, 5], [4]))
def test_tiny_windows_overrun(probe: Probe, ranks: int) -> None:
    launch = probe.good(
        "set blocks=2 warmup=0 rewarm=0 sync=window window_us=1\n"
        "case id=0 function=MPI_Alltoall bytes=262144 reps=64\n",
        ranks,
    )
    first, second = launch.samples
    assert first.overrun + first.late >= 8  # the first batch at least
    assert first.window_ns > 1000
    assert second.window_ns > 1000  # a case keeps the window that it has found, or narrows it
    for record in launch.samples:
        assert len(record.ns) + record.late == 64 or record.budget_spent


@pytest.mark.parametrize("ranks", by_default([4], [2]))
@pytest.mark.parametrize("reps", [1, 4, 12])
def test_series_shorter_than_a_batch_widen_windows(probe: Probe, reps: int, ranks: int) -> None:
    """Windows are settled in batches of eight and more: the rest of a series is a batch as well."""
    launch = slow_rank(probe, "blocks=8 rewarm=0 sync=window window_us=1", ranks, reps)
    windows = [record.window_ns for record in launch.samples]
    assert windows[0] > 1000
    assert windows[-1] >= 3_750_000  # a quarter longer than the 3 ms that rank 1 takes
    for record in launch.samples:
        assert len(record.ns) + record.late == reps


def test_windows_narrow_when_calls_become_short(probe: Probe, learning: Path) -> None:
    """A call takes 2 ms up to the 60th, which is in the second block; a window that is
    far too wide is narrowed in the first batch in which none was too short."""
    learns = {"LD_PRELOAD": str(learning), "LEARNING_NS": "2e6", "LEARNING_CALLS": "60"}
    launch = probe.good(
        "set blocks=6 warmup=16 sync=window\ncase id=0 function=MPI_Bcast bytes=8 reps=24\n",
        1,
        learns,
    )
    windows = [record.window_ns for record in launch.samples]
    assert windows[0] >= 2_500_000  # a quarter longer than 2 ms
    if windows[-1] >= windows[0] // 4:
        busy.undecided(f"windows of {windows} ns")


@pytest.mark.parametrize("sync", ["window", "roundtime"])
def test_who_overshoots_the_start_is_late(probe: Probe, sync: str) -> None:
    """Five ranks lose their cores while they wait, for a time slice and longer: with no call in
    between, what is left of that is the skew of valid starts. Of a few launches: others lose cores
    to other work between the start and the stamp, which no start scheme sees."""
    empty = "case id=0 function=MPI_Barrier variant=empty bytes=0 reps=200"
    late = []
    for _ in range(LAUNCHES):
        launch = probe.good(f"set blocks=2 warmup=0 sync={sync} runtime=global\n{empty}\n", 5)
        ns = sorted(value for record in launch.samples for value in record.ns)
        if not ns or ns[len(ns) // 2] < 1_000_000:
            return
        late.append(ns)
    raise AssertionError(late)


@pytest.mark.parametrize("ranks", by_default([2, 5], [4]))
def test_windows_by_measurement(probe: Probe, ranks: int) -> None:
    valid = 0
    for _ in range(2 * LAUNCHES):
        launch = probe.good(
            "set blocks=2 sync=window\n"
            "case id=0 function=MPI_Allreduce bytes=8 reps=40\n"
            "case id=1 function=MPI_Allreduce bytes=65536 root=1 reps=40\n",
            ranks,
        )
        assert launch.of(ClockSync)
        for record in launch.samples:
            assert record.window_ns >= 500  # for the next one to begin in time, whatever it takes
            assert record.budget_spent or len(record.ns) + record.late == 40
        valid += sum(len(record.ns) for record in launch.samples)
        if valid >= 16:  # of 160 a launch; all on idle cores
            return
    raise AssertionError(f"{valid} valid repetitions")


@pytest.mark.parametrize("ranks", by_default([2, 5], [4]))
def test_round_times_repeat_what_was_late(probe: Probe, ranks: int) -> None:
    """Roots that are not rank 0 too: the announcements are not the function's messages."""
    launch = probe.good(
        "set blocks=3 sync=roundtime runtime=global\n"
        f"case id=0 function=MPI_Bcast bytes=1024 root={ranks - 1} reps=30\n"
        "case id=1 function=MPI_Barrier bytes=0 reps=30\n",
        ranks,
    )
    for record in launch.samples:
        assert len(record.ns) == 30 or record.budget_spent
        assert record.overrun == 0 and record.window_ns == 0


@pytest.mark.parametrize("sync", ["roundtime", "window window_us=4000"])
def test_a_budget_that_runs_out_is_said(probe: Probe, sync: str) -> None:
    """The predecessors' missing budget meant one repetition, in silence. Of three launches one must
    get to samples in 100 ms: with its cores taken by others, a rank is always late."""
    for _ in range(LAUNCHES):
        (record,) = slow_rank(probe, f"sync={sync} budget_ms=100", 2, reps=2000).samples
        assert record.budget_spent and len(record.ns) < 100
        if len(record.ns) > 1:
            break
    else:
        busy.undecided("no repetition began in time")
    enough = slow_rank(probe, f"sync={sync} budget_ms=20000", 2, reps=20)
    assert not enough.samples[0].budget_spent
