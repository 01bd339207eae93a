"""Timers and the global clock: what the records say of them, and that it is true."""

from __future__ import annotations

import pytest

from plumbline_db.probe_records import ClockError, ClockModel, ClockSync, Refused
from tests import busy
from tests.probes.launch import Launch, Probe, listed
from tests.sampled import by_default

pytestmark = pytest.mark.mpi

CLOCKS = listed("clock/clocks.def")
ALGORITHMS = [
    name.replace("_paper", ":paper") for name in listed("clock/algorithms/algorithms.def")
]
NOT_SHARED = {"wtime"}
BARRIER = "case id=0 function=MPI_Barrier bytes=0 reps=20"


def run(probe: Probe, settings: str, ranks: int = 2, cases: str = BARRIER) -> Launch:
    return probe.good(f"set blocks=1 warmup=0 {settings}\n{cases}", ranks)


def test_the_probe_names_them(probe: Probe) -> None:
    known = probe.known()
    assert known["clock_syncs"] == ALGORITHMS
    assert known["clocks"] == [clock for clock in CLOCKS if clock in known["clocks"]]
    assert {"monotonic_raw", "monotonic", "wtime"} <= set(known["clocks"])


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_known_time_by_every_timer(probe: Probe, clock: str) -> None:
    """The last rank sleeps 3 ms in the call: a timer in other units would say otherwise."""
    if clock not in probe.known()["clocks"]:
        pytest.skip(f"this probe has no timer {clock}")
    lines = f"set blocks=1 warmup=0 clock={clock}\n"
    lines += "case id=0 function=MPI_Reduce_local bytes=8 reps=20\n"
    launch = probe.good(lines, 2, probe.slow(1))
    assert launch.header.clock.name == clock
    assert launch.header.clock.shared is (clock not in NOT_SHARED)
    assert 0 < launch.header.clock.resolution_ns < 1_000_000
    assert 0 <= launch.header.clock.cost_ns < 100_000
    least = min(launch.samples[0].ns)
    assert least >= 2_999_000
    if least >= 4_500_000:
        busy.undecided(f"{least} ns for 3 ms of sleep")


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("clock=sundial", "'probe --list' names them (clocks)"),
        ("clock_sync=ntp", "'probe --list' names them (clock_syncs)"),
        ("runtime=mean", "write local"),
        ("window_us=-1", "write a whole number from 0"),
        ("clock_multiple=0", "write a whole number from 1"),
        ("clock_fit_ms=0", "write a whole number from 1"),
        ("budget_ms=0", "write a whole number from 1"),
        ("plain=each runtime=global", "plain loops have the ranks' own times alone"),
    ],
)
def test_mistakes_have_a_remedy(probe: Probe, token: str, why: str) -> None:
    probe.refuses(f"set {token}\n{BARRIER}\n", f"token '{token.split()[-1]}': ", why)


def test_local_times_need_no_global_clock(probe: Probe) -> None:
    launch = run(probe, "sync=dissemination clock=wtime")
    assert launch.header.runtime == "local"
    assert not launch.of(ClockSync) and not launch.of(ClockError)


def test_a_shared_timer_on_one_node_has_no_error(probe: Probe) -> None:
    launch = run(probe, "runtime=global clock_multiple=1000000", 4)
    assert launch.header.runtime == "global"
    assert [(one.algorithm, one.domains) for one in launch.of(ClockSync)] == [("hca3", 1)]
    (model,) = launch.of(ClockModel)
    assert (model.domain, model.rank, model.offset_ns, model.slope) == (0, 0, 0, 0.0)
    assert [(one.when, one.errors_ns, one.bounds_ns) for one in launch.of(ClockError)] == [
        ("start", [0], [0]),
        ("end", [0], [0]),
    ]
    assert not launch.of(Refused)


@pytest.mark.parametrize("ranks", by_default([5], [2, 4]))
@pytest.mark.parametrize(
    "algorithm", [name for name in ALGORITHMS[:-1] if not name.endswith(":paper")]
)
def test_wtime_becomes_global(probe: Probe, algorithm: str, ranks: int) -> None:
    """MPI_Wtime of Open MPI 4.1 starts near 0 in each process; predecessors of this probe were off
    by up to 630 us with it. The bound holds whatever the ways of the messages were; of three
    launches the best counts, as a machine under load delays messages."""
    bounds = []
    for _ in range(3):
        launch = run(probe, f"runtime=global clock=wtime clock_sync={algorithm}", ranks)
        (sync,) = launch.of(ClockSync)
        assert (sync.algorithm, sync.domains) == (algorithm, ranks)
        models = launch.of(ClockModel)
        assert [model.rank for model in models] == list(range(ranks))
        assert all(model.slope == 0 for model in models)  # one oscillator
        for error in launch.of(ClockError):
            assert len(error.errors_ns) == len(error.bounds_ns) == ranks
            pairs = zip(error.errors_ns, error.bounds_ns, strict=True)
            assert all(0 <= seen <= bound for seen, bound in pairs)
        bounds.append(max(max(error.bounds_ns) for error in launch.of(ClockError)))
        if bounds[-1] < 20_000:
            break
    if min(bounds) >= 20_000:
        busy.undecided(f"messages have waited: {bounds}")


def test_cells_shorter_than_the_error_are_refused(probe: Probe) -> None:
    """The samples are kept; the case is no result."""
    launch = run(probe, "runtime=global clock=wtime clock_multiple=1000000", 4)
    (refused,) = launch.of(Refused)
    assert refused.case == 0
    assert "below 1000000 times its residual error" in refused.reason
    assert "use runtime=local" in refused.reason
    assert len(launch.samples[0].ns) == 20


def test_local_times_started_by_a_wrong_clock_are_refused(probe: Probe) -> None:
    """Ranks whose clocks were never synchronised start apart by as much, and local times contain
    it: they are as long as the error itself, so no multiple of it."""
    allreduce = "case id=0 function=MPI_Allreduce bytes=8 reps=20"
    for _ in range(5):  # MPI_Wtime starts with MPI_Init: ranks may happen to do so together
        launch = run(probe, "sync=roundtime clock=wtime clock_sync=none", 4, allreduce)
        if max(max(error.errors_ns) for error in launch.of(ClockError)) > 200_000:
            break
    (refused,) = launch.of(Refused)
    assert launch.header.runtime == "local"
    assert "times its residual error" in refused.reason or "no repetition" in refused.reason


def test_local_times_started_by_a_right_clock_are_not(probe: Probe) -> None:
    launch = run(probe, "sync=roundtime clock_multiple=1000000", 2)
    assert launch.of(ClockError) and not launch.of(Refused)
