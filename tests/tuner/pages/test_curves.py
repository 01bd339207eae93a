"""Curves: their points, what they are compared with, what may be said of that, and the picture."""

from __future__ import annotations

import csv
import io
import statistics
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException

from plumbline.pages import curve, curves
from plumbline.pages.curve import offered
from plumbline.system import chart
from plumbline_db import runs
from plumbline_db.connection import Database
from tests.db import build
from tests.tuner.pages.site import DESCRIBED, FIRST, SECOND, SUITES

OURS = f"{FIRST}:before|MPI_Bcast|allreduce_as_reduce_plus_bcast"
DEFAULT = f"{FIRST}:before|MPI_Bcast|default"
ELSEWHERE = f"{SECOND}:before|MPI_Bcast|default"
ALL = (0, 2**63 - 1)


@pytest.fixture
def db(stored: Path) -> Database:
    with Database.open(stored) as db:
        yield db


def test_a_point_is_the_median_of_the_launches_medians(db: Database) -> None:
    (read,) = curve.read(db, [DEFAULT], DEFAULT, ALL)
    (medians,) = [
        found
        for found in runs.medians(db, FIRST, ["before"])
        if found.case.function == "MPI_Bcast"
        and found.case.variant == "default"
        and found.case.bytes == read.points[0].place
    ]
    point = read.points[0]
    assert point.seconds == statistics.median(medians.seconds) and point.n == 6
    # Of six launches the extremes hold 96.9 %.
    assert (point.low, point.high) == (min(medians.seconds), max(medians.seconds))
    assert point.factor == curve.TimeRatio(1.0, 1.0, 1.0, True)


def test_curves_of_the_same_launches_are_compared_launch_by_launch(db: Database) -> None:
    ours, default = curve.read(db, [OURS, DEFAULT], DEFAULT, ALL)
    assert [point.place for point in ours.points] == [point.place for point in default.points]
    for point in ours.points:
        assert point.factor.together and point.factor.low <= point.factor.ratio <= point.factor.high
    assert curve.together([ours, default])
    assert ours.text == "MPI_Bcast, allreduce_as_reduce_plus_bcast" and default.is_base


def test_curves_of_other_launches_have_a_factor_without_an_interval(db: Database) -> None:
    found = curve.read(db, [DEFAULT, ELSEWHERE], DEFAULT, ALL)
    for point in found[1].points:
        assert not point.factor.together and point.factor.low is None
    assert not curve.together(found)
    texts = [row["factor"] for row in _values(found) if row["curve"].startswith("2.")]
    assert texts and all(text.endswith("measured apart") for text in texts)


def test_bounds_leave_sizes_out(db: Database) -> None:
    (whole,) = curve.read(db, [DEFAULT], DEFAULT, ALL)
    (part,) = curve.read(db, [DEFAULT], DEFAULT, (4, 16))
    sizes = [point.place for point in whole.points]
    assert [point.place for point in part.points] == [size for size in sizes if 4 <= size <= 16]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("", 400),
        ("a|b", 400),
        ("a|b|c|d", 400),
        (f"{FIRST}:before@default|MPI_Bcast|default", 400),
        (f"other.db#{FIRST}:before|MPI_Bcast|default", 400),
        ("nothing:before|MPI_Bcast|default", 404),
        (f"{FIRST}:round-9|MPI_Bcast|default", 404),
        (f"{FIRST}/nothing|MPI_Bcast|default", 404),
        (f"{FIRST}:before|MPI_Nothing|default", 404),
        (f"{FIRST}:before|MPI_Bcast|nothing", 404),
    ],
)
def test_names_that_name_nothing(db: Database, name: str, status: int) -> None:
    with pytest.raises(HTTPException) as refused:
        curve.read(db, [name], name, ALL)
    assert refused.value.status_code == status


def test_whatever_is_offered_can_be_read(db: Database) -> None:
    for every in (False, True):
        for source in offered(db, FIRST, every=every):
            names = [name for of in source.functions.values() for name, _ in of]
            assert all(each.points for each in curve.read(db, names, names[0], ALL))


def test_a_suite_is_offered_where_there_is_no_table_yet(tmp_path: Path) -> None:
    with Database.open(tmp_path / "begun.db", write=True) as db:
        campaign = build.started(db)
        launch = build.run("search-1")
        runs.put(db, launch, build.records(launch, [build.Timed()]))
        (source,) = offered(db, campaign.id, every=False)
    assert source.side == f"{campaign.id}/search-1"
    assert source.functions == {
        "MPI_Allreduce": [(f"{source.side}|MPI_Allreduce|default", "default")]
    }


def test_csv_has_all_points(db: Database) -> None:
    found = curve.read(db, [OURS, DEFAULT, ELSEWHERE], DEFAULT, ALL)
    rows = list(csv.DictReader(io.StringIO(curve.csv_of(found))))
    assert len(rows) == sum(len(each.points) for each in found)
    assert {row["measured_together"] for row in rows} == {"0", "1"}
    assert float(rows[0]["seconds"]) == found[0].points[0].seconds


@pytest.mark.parametrize("ratios", [False, True])
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_the_picture_has_all_curves(db: Database, scale: str, ratios: bool) -> None:
    found = curve.read(db, [OURS, DEFAULT], DEFAULT, ALL)
    spec = curves.specification(found, x=scale, y=scale, ratios=ratios, zoom=False)
    picture = chart.render(spec)
    assert "1. MPI_Bcast, allreduce_as_reduce" in picture
    assert ("over that of curve 2" in picture) == ratios


def _values(found: list[curve.Curve]) -> list[dict[str, str]]:
    spec = curves.specification(found, x="log", y="log", ratios=False, zoom=True)
    return spec["data"]["values"]


def test_all_looks_at_a_suite_are_one_curve_that_knows_why_it_has_its_points(db: Database) -> None:
    gather, ranks, modes = offered(db, SUITES, every=False)
    assert [gather.side, ranks.side, modes.side] == list(DESCRIBED)
    assert (gather.axis, ranks.axis) == ("bytes", "ranks")
    assert (gather.by_rank, ranks.by_rank) == ([256, 4096, 8192, 16384], [])
    assert modes.functions["point_to_point"][0][1] == "send_recv on 2 ranks"
    names = [name for name, _ in gather.functions["MPI_Gather"]]
    default, ours = curve.read(db, names, names[0], ALL)
    assert [point.place for point in default.points] == [256, 4096, 8192, 16384]
    assert [point.why[:4] for point in default.points] == ["", "", "jump", ""]
    assert all(point.factor.together for point in ours.points)
    assert "jump: MPI_Gather, between 4096" in curve.csv_of([default])
    spec = curves.specification([default], x="log", y="log", ratios=False, zoom=True)
    assert {row["why"][:4] for row in spec["data"]["values"]} == {"it w", "jump"}


def test_curves_over_ranks(db: Database) -> None:
    source = offered(db, SUITES, every=False)[1]
    names = [name for name, _ in source.functions["MPI_Gather"]]
    found = curve.read(db, names, names[0], ALL)
    assert [[point.place for point in each.points] for each in found] == [[2, 3, 4]] * 2
    spec = curves.specification(found, x="log", y="log", ratios=False, zoom=False)
    assert "ranks" in chart.render(spec)
    with pytest.raises(HTTPException, match="do not share an axis"):
        curve.read(db, [*names, DEFAULT], DEFAULT, ALL)


def test_rank_by_rank(db: Database) -> None:
    source = offered(db, SUITES, every=False)[0]
    names = [name for name, _ in source.functions["MPI_Gather"]]
    default, ours = curve.read(db, names, "", ALL, 4096)
    assert (default.axis, [point.place for point in default.points]) == ("rank", [0, 1, 2, 3])
    seconds = [point.seconds for point in ours.points]
    assert seconds[3] == pytest.approx(2 * seconds[1])
    assert "rank" in chart.render(
        curves.specification([default], x="log", y="linear", ratios=False, zoom=False)
    )
    for names_, at in ((names, 4097), ([DEFAULT], 4096)):
        with pytest.raises(HTTPException) as refused:
            curve.read(db, names_, "", ALL, at)
        assert refused.value.status_code == 404


def test_several_pictures_below_each_other(db: Database) -> None:
    found = curve.read(db, [OURS, DEFAULT], DEFAULT, ALL)
    one = curves.specification(found, x="log", y="log", ratios=False, zoom=False)
    picture = chart.render(curves.below_each_other([one | {"title": "above"}, one]))
    alone = chart.render(one).count("1. MPI_Bcast")
    assert "above" in picture and picture.count("1. MPI_Bcast") == 2 * alone
