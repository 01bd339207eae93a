"""Stopping rules: each criterion against NumPy, and what the probe does with them under mpirun."""

from __future__ import annotations

import ctypes
import itertools
import math
import subprocess
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.measure.repetitions import curve_of
from plumbline_db.probe_records import Nrep, Samples
from tests.probes.launch import ROOT, Launch, Probe

Value = Callable[[Sequence[int], int], float]

# --- what a criterion is, written down a second time ---------------------------------------------


def filtered(values: np.ndarray) -> np.ndarray:
    q1, q3 = np.percentile(values, [25, 75])
    reach = 1.5 * (q3 - q1)
    return values[(values >= q1 - reach) & (values <= q3 + reach)]


def rse(values: np.ndarray, window: int) -> float:
    kept = filtered(values)
    return float(np.std(kept, ddof=1) / math.sqrt(len(kept)) / np.mean(kept))


def cov(statistic: Callable[[np.ndarray], float]) -> Callable[[np.ndarray, int], float]:
    def value(values: np.ndarray, window: int) -> float:
        last = range(len(values) - window + 1, len(values) + 1)
        running = [statistic(values[:count]) for count in last]
        return float(np.std(running, ddof=1) / np.mean(running))

    return value


def median_ci(values: np.ndarray, window: int) -> float:
    """From all autocovariances at once, through the FFT."""
    n, median = len(values), np.median(values)
    indicator = (values <= median).astype(float)
    centred = indicator - indicator.mean()
    spectrum = np.fft.rfft(centred, 2 * n)
    covariance = np.fft.irfft(spectrum * spectrum.conj())[:n]
    tau = 1.0
    if covariance[0] > 1e-9:
        pairs = np.add(covariance[0 : n - 1 : 2], covariance[1:n:2]) / covariance[0]
        ended = np.flatnonzero(pairs <= 1e-12)
        count = int(ended[0]) if len(ended) else len(pairs)
        tau = max(1.0, 2 * float(pairs[:count].sum()) - 1)
        lags = min(max(2 * count - 1, 0), 5 * tau)
        tau *= 1 + (2 * lags + 1) / n
    if n / tau < 20:
        return math.nan
    reach = 0.98 * math.sqrt(tau * n)
    low, high = math.floor(n / 2 - reach), math.ceil(n / 2 + 1 + reach)
    ordered = np.sort(values)
    return float((ordered[high - 1] - ordered[low - 1]) / 2 / median)


def block_medians(values: np.ndarray, window: int) -> float:
    blocks = len(values) // window
    if blocks < 3:
        return math.nan
    medians = np.median(values[: blocks * window].reshape(blocks, window), axis=1)
    return float(np.std(medians, ddof=1) / math.sqrt(blocks) / np.mean(medians))


REFERENCE = {
    "rse": rse,
    "rse_plain": lambda values, window: float(
        np.std(values, ddof=1) / math.sqrt(len(values)) / np.mean(values)
    ),
    "cov_mean_plain": cov(lambda values: float(np.mean(values))),
    "cov_mean": cov(lambda values: float(np.mean(filtered(values)))),
    "cov_median": cov(lambda values: float(np.median(values))),
    "median_ci": median_ci,
    "block_medians": block_medians,
}


def same(got: float | None, wanted: float) -> bool:
    if got is None or math.isnan(got):
        return math.isnan(wanted)
    return got == pytest.approx(wanted, rel=1e-9, abs=1e-12)


# --- in this process -----------------------------------------------------------------------------


class Criterion(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("summary", ctypes.c_char_p),
        ("window", ctypes.c_int),
        (
            "value",
            ctypes.CFUNCTYPE(
                ctypes.c_double,
                ctypes.POINTER(ctypes.c_int64),
                ctypes.c_int,
                ctypes.c_int,
                ctypes.POINTER(ctypes.c_double),
            ),
        ),
    ]


@pytest.fixture(scope="module")
def criteria(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Value]:
    """The room probes/nrep alone, as a shared library: it needs no MPI."""
    library = tmp_path_factory.mktemp("nrep") / "libnrep.so"
    sources = sorted((ROOT / "probes" / "nrep").glob("*.c"))
    subprocess.run(
        [
            *("cc", "-std=c11", "-O2", "-shared", "-fPIC", "-I", str(ROOT / "probes")),
            *("-o", str(library), *map(str, sources), "-lm"),
        ],
        check=True,
        timeout=60,
    )
    loaded = ctypes.CDLL(str(library))
    found: dict[str, Value] = {}
    for name in REFERENCE:
        one = Criterion.in_dll(loaded, f"pl_criterion_{name}")
        assert one.name.decode() == name

        def value(values: Sequence[int], window: int, one: Criterion = one) -> float:
            count = len(values)
            room = (ctypes.c_double * (2 * count))()
            return float(one.value((ctypes.c_int64 * count)(*values), count, window, room))

        found[name] = value
    return found


SERIES = st.one_of(
    st.lists(st.integers(1, 10**9), min_size=25, max_size=120),
    st.lists(st.integers(100, 104), min_size=25, max_size=200),  # a coarse timer: ties
    st.lists(st.integers(1, 50), min_size=25, max_size=200).map(
        lambda steps: [int(x) for x in np.cumsum(steps)]  # drift
    ),
)


@pytest.mark.parametrize("name", sorted(REFERENCE))
@settings(max_examples=150, deadline=None)
@given(values=SERIES, window=st.integers(2, 25))
def test_against_numpy(
    criteria: dict[str, Value], name: str, values: list[int], window: int
) -> None:
    wanted = REFERENCE[name](np.array(values, dtype=float), window)
    assert same(criteria[name](values, window), wanted)


# --- under mpirun --------------------------------------------------------------------------------

RULE = "rse:0.025,cov_mean:0.01/12,cov_median:0.01/12,median_ci:0.05"
RULE += ",rse_plain:0.05,cov_mean_plain:0.02/12"
CASES = """case id=0 function=MPI_Bcast bytes=64
case id=1 function=MPI_Allreduce bytes=4096
case id=5 function=MPI_Bcast variant=empty bytes=64
"""
mpi = pytest.mark.mpi


def series_of(launch: Launch, case: int) -> list[list[int]]:
    return [record.ns for record in launch.samples if record.case == case]


@mpi
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_records_say_what_the_samples_say(probe: Probe, ranks: int) -> None:
    """Every number in an nrep record from the recorded samples, and no earlier block would have
    met the rule."""
    launch = probe.good(
        f"set seed=5 nrep={RULE} nrep_min=15 nrep_step=9 nrep_max=70\n{CASES}", ranks
    )
    ends = {record.case: record for record in launch.of(Nrep)}
    assert sorted(ends) == [0, 1, 5]
    for case, end in ends.items():
        blocks = series_of(launch, case)
        sizes = [len(block) for block in blocks]
        assert sizes == [15, 9, 9, 9, 9, 9, 9, 1][: len(sizes)]
        assert sum(sizes) == end.nrep
        for last in range(1, len(blocks) + 1):
            values = np.array(list(itertools.chain(*blocks[:last])), dtype=float)
            wanted = [REFERENCE[one.name](values, 12) for one in end.criteria]
            met = all(w < one.threshold for w, one in zip(wanted, end.criteria, strict=True))
            assert met == (last == len(blocks) and end.ended_by == "criteria")
        assert all(same(o.value, w) for o, w in zip(end.criteria, wanted, strict=True))
        (samples,) = [each for each in launch.of(Samples) if each.case == case]
        windows = {"cov_mean": 12, "cov_median": 12, "cov_mean_plain": 12}
        last_point = curve_of(samples, end.criteria, windows)[-1]
        assert last_point.repetitions == end.nrep
        known = {one.name: math.nan if one.value is None else one.value for one in end.criteria}
        assert all(same(last_point.values[name], value) for name, value in known.items())
        assert end.ended_by == "criteria" or (end.ended_by, end.nrep) == ("maximum", 70)
    assert [one.name for one in ends[0].criteria] == [w.split(":")[0] for w in RULE.split(",")]


@mpi
def test_cases_end_between_blocks(probe: Probe) -> None:
    """Where blocks stand beside a rule they are the most that a case takes, streams as well; no
    earlier block would have met it. What is clear stops, what never is goes on to the last one."""
    most, reps, stream = 40, 4, 50
    launch = probe.good(
        f"set seed=3 blocks={most} nrep=block_medians:0.03 settle=40 warmup=2\n"
        f"case id=0 function=MPI_Bcast bytes=64 reps={reps}\n"
        f"case id=1 function=MPI_Bcast bytes=64 reps={stream} use=stream\n"
        f"case id=2 function=MPI_Bcast variant=empty bytes=8 reps={reps} delay_ns=200000\n",
        2,
    )
    ends = {record.case: record for record in launch.of(Nrep)}
    assert sorted(ends) == [0, 1, 2]
    for case, end in ends.items():
        blocks = series_of(launch, case)
        size = 1 if case == 1 else reps
        assert {len(block) for block in blocks} == {size}
        for last in range(1, len(blocks) + 1):
            value = block_medians(np.array(list(itertools.chain(*blocks[:last])), float), size)
            assert (value < 0.03) == (last == len(blocks) and end.ended_by == "criteria")
        assert end.nrep == size * len(blocks)
        assert end.ended_by == "criteria" or len(blocks) == most
    assert len(launch.orders) == max(len(series_of(launch, case)) for case in ends)


@mpi
def test_rounds_are_interleaved_and_shrink(probe: Probe) -> None:
    """Fresh order in every block, of those that are not at their end; one that is never comes
    back."""
    launch = probe.good(
        "set seed=9 nrep=rse:1e-9 nrep_min=10 nrep_step=10 nrep_max=60\n"
        + "\n".join(f"case id={i} function=MPI_Bcast bytes={i}" for i in range(6)),
        2,
    )
    orders = launch.orders
    assert len(orders) == launch.header.blocks == 6
    assert len({tuple(order) for order in orders}) > 3
    left = set(range(6))
    for order in orders:
        assert set(order) <= left
        left = set(order)
    taken = {case: sum(map(len, series_of(launch, case))) for case in range(6)}
    assert {record.case: record.nrep for record in launch.of(Nrep)} == taken
    # All times of a call that does nothing may be equal.
    for record in launch.of(Nrep):
        met = record.criteria[0].value < record.criteria[0].threshold
        assert record.ended_by == ("criteria" if met else "maximum")
    assert launch.cases[0].reps == 60


@mpi
def test_totals(probe: Probe) -> None:
    """min, min + step, min + 2 step …, max: the whole number of repetitions, not of what is added
    to it."""
    launch = probe.good(
        "set warmup=0 rewarm=0 nrep=rse:1e-12 nrep_min=4 nrep_step=3 nrep_max=11\n"
        "case id=0 function=MPI_Reduce_local bytes=8",
        2,
        probe.slow(1),
    )
    assert [len(block) for block in series_of(launch, 0)] == [4, 3, 3, 1]
    (end,) = launch.of(Nrep)
    assert (end.nrep, end.ended_by) == (11, "maximum")


@mpi
def test_the_budget_ends_it(probe: Probe) -> None:
    """Each call takes 3 ms: 20 ms are over in the second or third block of four."""
    launch = probe.good(
        "set warmup=0 rewarm=0 nrep=rse:1e-12 nrep_min=4 nrep_step=4 nrep_max=4000 budget_ms=20\n"
        "case id=0 function=MPI_Reduce_local bytes=8",
        2,
        probe.slow(0),
    )
    (end,) = launch.of(Nrep)
    assert end.ended_by == "budget"
    assert end.nrep == sum(map(len, series_of(launch, 0))) <= 8


@mpi
def test_too_few_samples_are_said(probe: Probe) -> None:
    launch = probe.good(
        "set nrep=cov_mean:0.5/8,median_ci:0.5 nrep_min=5 nrep_step=5 nrep_max=10\n"
        "case id=0 function=MPI_Bcast bytes=8"
    )
    (end,) = launch.of(Nrep)
    assert (end.nrep, end.ended_by, end.criteria[1].value) == (10, "maximum", None)
    assert end.criteria[0].value is not None
