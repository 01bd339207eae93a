"""Repetitions that a stopping rule has counted: what launches take, and the criteria on the way."""

from __future__ import annotations

import math

import pytest

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.measure import repetitions
from plumbline.measure.repetitions import RepetitionsCell, StoppedAt
from plumbline.results import repetition_curves
from plumbline_db.probe_records import Criterion, Samples

BCAST = PlanCase("MPI_Bcast", 64)


def cell(size: int, nrep: int | None, variant: str = "default") -> RepetitionsCell:
    return RepetitionsCell("MPI_Bcast", variant, size, "ok", nrep, nrep is not None, [])


def test_counts_are_of_what_could_be_measured() -> None:
    cells = [cell(64, 30), cell(64, 50, "bcast_binomial"), cell(128, None)]
    assert repetitions.counts(cells) == {
        BCAST: 30,
        PlanCase("MPI_Bcast", 64, "bcast_binomial"): 50,
    }


def test_a_launch_takes_whole_blocks_that_are_enough() -> None:
    """30 repetitions in 12 blocks are 3 a block; what was not counted stays as it is."""
    knob = Configuration.of({"coll_tuned_bcast_algorithm": "1"})
    cases = (
        BCAST,
        PlanCase("MPI_Bcast", 64, "library"),
        PlanCase("MPI_Bcast", 64, configuration=knob),
        PlanCase("MPI_Bcast", 128),
    )
    plan = Plan("check", 1, cases, blocks=12, reps=4, precision=0.01)
    applied = repetitions.applied(plan, {BCAST: 30})
    assert [case.reps for case in applied.cases] == [3, 3, 0, 0]
    assert (applied.blocks, applied.reps, applied.precision) == (12, 4, 0.0)
    assert repetitions.applied(plan, {BCAST: 36}).cases[0].reps == 3
    assert repetitions.applied(plan, {BCAST: 37}).cases[0].reps == 4


def curve(ns: list[int], blocks: list[int], **windows: int) -> dict[str, list[float | None]]:
    """The criteria after each block, by name."""
    samples = Samples(0, list(range(len(blocks))), [0] * len(blocks), blocks, [], ns)
    names = ("rse", "rse_plain", "cov_mean", "cov_mean_plain", "cov_median", "median_ci")
    criteria = [Criterion(name, 0.1, 0.5) for name in names]
    points = repetitions.curve_of(samples, criteria, windows)
    assert [point.repetitions for point in points] == [
        sum(blocks[: end + 1]) for end in range(len(blocks))
    ]
    return {name: [point.values[name] for point in points] for name in names}


def test_criteria_by_hand() -> None:
    """10, 12, 11, 13, 14: mean 12, s = √2.5; then an outlier, which the filter leaves out."""
    error = math.sqrt(2.5) / math.sqrt(5) / 12
    values = curve([10, 12, 11, 13, 14, 100000], [5, 1])
    assert values["rse"] == pytest.approx([error, error])
    first, second = values["rse_plain"]
    assert first == pytest.approx(error)
    assert second is not None and second > 0.9
    assert values["median_ci"] == [None, 0.5]  # the probe's, at the end
    assert values["cov_mean"] == [None, None]  # fewer than 20


def test_running_criteria_have_windows() -> None:
    """Running means 10, 11, 12 and medians 10, 11, 12 of 10, 12, 14."""
    values = curve([10, 12, 14], [2, 1], cov_mean=3, cov_mean_plain=3, cov_median=2)
    assert values["cov_mean"] == [None, pytest.approx(1 / 11)]
    assert values["cov_mean_plain"] == [None, pytest.approx(1 / 11)]
    half = math.sqrt(0.5)
    assert values["cov_median"] == [pytest.approx(half / 10.5), pytest.approx(half / 11.5)]


def test_the_chart_has_a_line_a_launch_and_a_threshold() -> None:
    samples = Samples(0, [0, 1], [0, 0], [2, 1], [], [10, 12, 14])
    criterion = Criterion("rse_plain", 0.025, 0.09)
    points = repetitions.curve_of(samples, [criterion], {})
    launch = StoppedAt(3, "maximum", [criterion], points)
    measured = RepetitionsCell("MPI_Bcast", "default", 64, "ok", 3, False, [launch, launch])
    spec = repetition_curves.specification([measured], "title")
    rows = spec["data"]["values"]
    assert [row["threshold"] for row in rows if "threshold" in row] == [0.025]
    lines = [(row["launch"], row["repetitions"]) for row in rows if "value" in row]
    assert lines == [(1, 2), (1, 3), (2, 2), (2, 3)]
    assert {row["cell"] for row in rows} == {"MPI_Bcast, 64 B"}
