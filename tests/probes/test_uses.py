"""Ways of use: one call, timed in several ways in the same blocks of a launch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import busy
from tests.probes.launch import Launch, Probe, listed
from tests.sampled import by_default

pytestmark = pytest.mark.mpi

LAUNCHES = 4
USES = ("synchronised", "after_barrier", "loop", "stream", "late")
OLD_CASE = (
    '{"record":"case","case":7,"function":"MPI_Bcast","variant":"default","config":"default",'
    '"bytes":8,"bytes_moved":8,"type":"MPI_BYTE","op":"MPI_BOR","root":0,"ranks":0,"reps":3,'
    '"delay_ns":0}'
)


def used(case: str, uses: tuple[str, ...] = USES) -> str:
    return "\n".join(f"case id={i} use={use} {case}" for i, use in enumerate(uses)) + "\n"


def samples(launch: Launch, uses: tuple[str, ...] = USES) -> dict[str, list[int]]:
    """All samples of each way of use."""
    assert launch.code == 0, launch.stderr
    found: dict[str, list[int]] = {use: [] for use in uses}
    for record in launch.samples:
        found[launch.cases[record.case].use].extend(record.ns)
    return found


def some_launch(
    probe: Probe,
    lines: str,
    ranks: int,
    right: Callable[[dict[str, float]], bool],
    environment: dict[str, str] | None = None,
    uses: tuple[str, ...] = USES,
) -> None:
    """In some launch the lower quartiles of all ways are right: others on the machine lengthen
    samples, and they shorten those of ranks that come late to a call."""
    found: list[dict[str, float]] = []
    for _ in range(LAUNCHES):
        ns = samples(probe.run(lines, ranks, environment), uses)
        found.append({use: sorted(ns[use])[len(ns[use]) // 4] for use in uses if ns[use]})
        if len(found[-1]) == len(uses) and right(found[-1]):
            return
    busy.undecided(str(found))


def test_the_probe_names_them(probe: Probe) -> None:
    uses = probe.known()["uses"]
    assert [use["name"] for use in uses] == listed("use/uses.def")
    assert all(len(use["summary"]) > 20 for use in uses)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_planted_delay_is_in_every_way(probe: Probe, ranks: int) -> None:
    some_launch(
        probe,
        "set blocks=10 warmup=2\n" + used("function=MPI_Bcast bytes=8 reps=5 delay_ns=200000"),
        ranks,
        lambda ns: all(140_000 < value < 400_000 for value in ns.values()),
    )


@pytest.mark.parametrize("ranks", by_default([4], [2]))
def test_ranks_that_leave_early(probe: Probe, pipeline: Path, ranks: int) -> None:
    """Each rank of a chain sleeps 5 ms: a call takes as many of them as there are ranks, the mean
    rank leaves after half of them, and back to back the calls overlap."""
    step = 5_000_000

    def right(ns: dict[str, float]) -> bool:
        return (
            ranks * step <= ns["synchronised"] < 2 * ranks * step
            and 0.75 < ns["after_barrier"] / ns["synchronised"] < 1.33
            and 0.5 < ns["loop"] / ns["after_barrier"] < 0.9
            and step <= ns["stream"] < 0.75 * ns["synchronised"]
        )

    some_launch(
        probe,
        "set blocks=2 warmup=1 sync=roundtime\n" + used("function=MPI_Bcast bytes=8 reps=5"),
        ranks,
        right,
        {"LD_PRELOAD": str(pipeline), "PIPELINE_NS": str(step)},
    )


@pytest.mark.parametrize("slow", by_default([3], [0]))
def test_the_mean_counts_every_rank(probe: Probe, slow: int) -> None:
    """One rank of four sleeps 3 ms. When another comes late by that, the sleep is over by then."""

    def right(ns: dict[str, float]) -> bool:
        largest = min(ns[use] for use in ("synchronised", "after_barrier", "stream"))
        return (
            largest > 2_990_000 and 748_000 < ns["loop"] < 0.5 * largest and ns["late"] < 1_000_000
        )

    some_launch(
        probe,
        "set blocks=2 warmup=1\n" + used("function=MPI_Reduce_local bytes=8 reps=8"),
        4,
        right,
        probe.slow(slow),
    )


LATE = "case id=0 function=MPI_Bcast bytes=8 use=late reps=6\n"


@pytest.mark.parametrize("ranks", by_default([2], [4]))
@pytest.mark.parametrize("late", ["nobody", "first", "last"])
def test_who_comes_late_does_not_count(probe: Probe, pipeline: Path, late: str, ranks: int) -> None:
    """A chain of sleeps of 5 ms. When its first rank comes 30 ms after the others, they wait for
    all of it; when its last one does, all but its own sleep is over."""
    step = 5_000_000
    offsets = [0] * ranks
    if late != "nobody":
        offsets[0 if late == "first" else -1] = 30_000_000
    sleeps = 1 if late == "last" else ranks

    some_launch(
        probe,
        f"set blocks=1 warmup=0 arrival=list:{','.join(map(str, offsets))}\n{LATE}",
        ranks,
        lambda ns: sleeps * step <= ns["late"] < (sleeps + 0.9) * step,
        {"LD_PRELOAD": str(pipeline), "PIPELINE_NS": str(step)},
        ("late",),
    )


@pytest.mark.parametrize("arrival", ["one", "uniform"])
def test_arrivals_are_drawn_anew_each_time(probe: Probe, pipeline: Path, arrival: str) -> None:
    """A chain of two sleeps of 5 ms, whose ranks come up to 20 ms late: in about half of the
    repetitions the first one comes last, so that both sleeps count; else the other does."""

    lines = f"set blocks=1 warmup=0 budget_ms=8000 arrival={arrival}:20000000\n{LATE}"
    environment = {"LD_PRELOAD": str(pipeline), "PIPELINE_NS": "5000000"}
    for _ in range(LAUNCHES):
        (record,) = probe.run(lines.replace("reps=6", "reps=30"), 2, environment).samples
        assert record.window_ns == 20_000_000
        long = sum(value > 9_500_000 for value in record.ns)
        if 5 <= long <= 25 and len(record.ns) - long >= 5:
            return
    busy.undecided(str(record))


def test_without_a_pattern_one_rank_is_late_by_about_one_call(probe: Probe, pipeline: Path) -> None:
    """Blocks keep what the first one has found."""
    launch = probe.good(
        f"set blocks=2 warmup=0\n{LATE}", 2, {"LD_PRELOAD": str(pipeline), "PIPELINE_NS": "5000000"}
    )
    first, second = launch.samples
    assert first.window_ns == second.window_ns
    assert first.window_ns > 7_500_000
    if first.window_ns >= 60_000_000:
        busy.undecided(f"a call of 10 ms took {first.window_ns} ns")


@pytest.mark.parametrize("ranks", by_default([4], [1, 2]))
def test_all_ways_in_one_plan(probe: Probe, ranks: int) -> None:
    """Beside cases without one, and cases on fewer ranks; each in every block."""
    case = "function=MPI_Allreduce bytes=64 reps=6"
    fewer = f"ranks={(ranks + 1) // 2}"
    lines = [f"case id={10 + i} use={use} {case} {fewer}" for i, use in enumerate(USES)]
    launch = probe.good(
        "set blocks=3 warmup=4 rewarm=2\n"
        + used(case)
        + "\n".join(lines)
        + f"\ncase id=8 {case}\ncase id=9 {case} {fewer}\n",
        ranks,
    )
    assert [launch.cases[i].use for i in (0, 1, 2, 3, 4, 8, 9, 13)] == [*USES, "", "", "stream"]
    assert all(sorted(order) == sorted(launch.cases) for order in launch.orders)
    assert launch.orders[0] != launch.orders[1]
    assert len(launch.samples) == 3 * len(launch.cases)
    for record in launch.samples:
        use, warmup = launch.cases[record.case].use, 2 if record.block else 4
        if use == "stream":
            assert (len(record.warmup_ns), len(record.ns)) == (0, 1)
        elif use == "synchronised":
            assert len(record.ns) + record.late == 6 or record.budget_spent
            assert record.window_ns > 0
        elif use == "late":
            assert len(record.ns) == 6 or record.budget_spent
            assert record.window_ns > 0  # about what the call takes
        else:
            assert (len(record.warmup_ns), len(record.ns)) == (warmup, 6)
        assert use in ("synchronised", "late") or record.window_ns == 0


def test_what_a_stream_takes_is_timed_time(probe: Probe) -> None:
    case = "function=MPI_Barrier bytes=0 variant=empty delay_ns=100000 reps=50"
    launch = probe.run(f"set blocks=2 warmup=0 rewarm=0\ncase id=0 use=stream {case}\n", 1)
    total = sum(50 * samples(launch, ("stream",))["stream"][i] for i in range(2))
    assert abs(launch.footer.timed_ns - total) <= 50


@pytest.mark.parametrize("sync", ["window", "roundtime"])
def test_synchronised_starts_by_the_plans_scheme_on_the_global_clock(
    probe: Probe, sync: str
) -> None:
    launch = probe.good(
        f"set blocks=1 sync={sync}\ncase id=0 use=synchronised function=MPI_Bcast bytes=8 reps=10\n"
    )
    (record,) = launch.samples
    assert (record.window_ns > 0) == (sync == "window")
    assert sync == "window" or len(record.ns) == 10 or record.budget_spent


def test_only_what_is_taken_on_the_global_clock_is_too_short_for_it(probe: Probe) -> None:
    """Two pretended hosts: their clocks are learnt, and no call is longer than a million errors."""
    launch = probe.good(
        "set blocks=1 clock_multiple=1000000 clock_fit_ms=20\n"
        + used("function=MPI_Bcast bytes=8 reps=20")
        + "case id=9 function=MPI_Bcast bytes=8 reps=20\n",
        2,
        {"LD_PRELOAD": str(probe.faulty), "PLUMBLINE_TEST_HOSTS": "2"},
    )
    refused = [line for line in raw(launch) if line["record"] == "refused"]
    assert [line["case"] for line in refused] == [0, 4]
    assert [line["record"] for line in raw(launch)].count("clock_sync") == 1


def test_without_a_use_records_are_what_they_were(probe: Probe) -> None:
    launch = probe.good("set blocks=1\ncase id=7 function=MPI_Bcast bytes=8 reps=3\n")
    assert OLD_CASE in launch.out.read_text().splitlines()
    assert not [line for line in raw(launch) if line["record"].startswith("clock")]
    launch = probe.run("set blocks=1\ncase id=7 function=MPI_Bcast bytes=8 reps=3 use=loop\n")
    assert OLD_CASE[:-1] + ',"use":"loop"}' in launch.out.read_text().splitlines()
    assert not [line for line in raw(launch) if line["record"].startswith("clock")]


def test_a_warm_up_longer_than_the_budget_leaves_samples(probe: Probe, pipeline: Path) -> None:
    """Calls of 20 ms: eight to warm up take longer than the budget, which is of the samples."""
    launch = probe.run(
        "set blocks=1 warmup=8 budget_ms=100\n" + used("function=MPI_Bcast bytes=8 reps=2"),
        2,
        {"LD_PRELOAD": str(pipeline), "PIPELINE_NS": "10000000"},
    )
    found = {use: len(ns) for use, ns in samples(launch).items()}
    assert (found["after_barrier"], found["loop"], found["stream"]) == (2, 2, 1)
    refused = {line["case"]: line["reason"] for line in raw(launch) if line["record"] == "refused"}
    for use in ("synchronised", "late"):
        assert found[use] or " were late" in refused[USES.index(use)]
    assert max(found["synchronised"], found["late"]) > 0 or busy.undecided("all starts were late")


def test_what_has_no_valid_sample_is_refused(probe: Probe, pipeline: Path) -> None:
    """Calls of 20 ms in windows of one: what comes after the first one, which is no sample, is
    late."""
    launch = probe.run(
        "set blocks=1 warmup=1 sync=window window_us=1000\n"
        + used("function=MPI_Bcast bytes=8 reps=2"),
        2,
        {"LD_PRELOAD": str(pipeline), "PIPELINE_NS": "10000000"},
    )
    found = {use: len(ns) for use, ns in samples(launch).items()}
    assert (found["after_barrier"], found["loop"], found["stream"]) == (2, 2, 1)
    assert found["synchronised"] == 0
    refused = {line["case"]: line["reason"] for line in raw(launch) if line["record"] == "refused"}
    assert "no repetition was valid" in refused[USES.index("synchronised")]


def test_a_stopping_rule_looks_at_each_way(probe: Probe) -> None:
    """Calls so long that no five of them take the same nanoseconds, outliers left out."""
    uses = ("after_barrier", "loop", "synchronised")
    launch = probe.run(
        "set nrep=rse:0.0000001 nrep_min=5 nrep_step=5 nrep_max=15\n"
        + used("function=MPI_Allreduce bytes=262144", uses),
        2,
    )
    found = samples(launch, uses)
    assert (len(found["after_barrier"]), len(found["loop"])) == (15, 15)
    rules = [line for line in raw(launch) if line["record"] == "nrep"]
    assert sorted(line["case"] for line in rules) == [0, 1, 2]


def test_refusals_name_the_line(probe: Probe) -> None:
    said = "line 2: token 'use=abuse': no such way of use"
    probe.refuses("case id=0 function=MPI_Bcast bytes=8 use=abuse\n", said)


def raw(launch: Launch) -> list[dict[str, Any]]:
    return [json.loads(line) for line in launch.out.read_text().splitlines()]
