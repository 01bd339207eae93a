"""Two sides, cell by cell: pairs, tests, adjusted p, against scipy and against what was planted."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
from scipy import stats

from plumbline.results import compare, sides
from plumbline.results.compare import How, SideComparison
from plumbline_db import campaigns, findings, machines, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.probe_records import (
    CaseRecord,
    Factor,
    Header,
    HostLoad,
    Load,
    ProbeRecord,
    Refused,
    Samples,
)
from plumbline_db.records import Library
from tests.db import build
from tests.db.build import Timed

FIRST = build.CAMPAIGN
SECOND = msgspec.structs.replace(FIRST, id="c-2", key="k-2", library_fingerprint="other")
OTHER = Library(
    id="openmpi-5.0.11",
    family="openmpi",
    version="5.0.11",
    version_string="Open MPI v5.0.11",
    prefix="/opt/openmpi",
    fingerprint="other",
    build={"compiler": "GNU 14.2.1"},
)


def two_campaigns(db: Database) -> None:
    """Of two libraries, without launches."""
    build.started(db, FIRST)
    machines.put_library(db, OTHER)
    campaigns.put(db, SECOND)


@pytest.fixture
def both(db: Database) -> Database:
    two_campaigns(db)
    return db


def put(
    db: Database,
    suite: str,
    sequence: int,
    cases: Sequence[Timed],
    campaign: object = FIRST,
    **header: object,
) -> list[ProbeRecord]:
    launch = build.run(suite, sequence, campaign=campaign)  # type: ignore[arg-type]
    head, *rest = build.records(launch, cases)
    records: list[ProbeRecord] = [msgspec.structs.replace(head, **header), *rest]  # type: ignore[type-var]
    runs.put(db, launch, records)
    return records


def read(db: Database, text: str) -> sides.ComparedSide:
    return sides.read(db, sides.parse(text))


def compared(db: Database, a: str, b: str, **how: object) -> SideComparison:
    return compare.compare(read(db, a), read(db, b), How(**how))  # type: ignore[arg-type]


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "file", "campaign", "stage", "suite", "variant"),
    [
        ("c-1", None, "c-1", "before", "", ""),
        ("c-1:after", None, "c-1", "after", "", ""),
        ("c-1/confirm-1", None, "c-1", "", "confirm-1", ""),
        ("/data/a b.db#c-1/x", "/data/a b.db", "c-1", "", "x", ""),
        ("../old:1.db#c-1:round-2@library", "../old:1.db", "c-1", "round-2", "", "library"),
    ],
)
def test_names(
    text: str, file: str | None, campaign: str, stage: str, suite: str, variant: str
) -> None:
    path = None if file is None else Path(file)
    assert sides.parse(text) == sides.Name(text, path, campaign, stage, suite, variant)


@pytest.mark.parametrize("text", ["", "/x", ":after", "c/", "c:", "#c", "c@", "a.db#"])
def test_names_of_nothing_show_the_form(text: str) -> None:
    with pytest.raises(UsageError, match=r"\[FILE#\]RUN"):
        sides.parse(text)


def test_what_is_not_there_is_listed(both: Database) -> None:
    put(both, "before", 0, [Timed()])
    for text, words in (
        ("c-9", f"contains no run c-9; it contains: {FIRST.id}, c-2"),
        (f"{FIRST.id}/confirm", "no suite confirm; it has: before"),
        (f"{FIRST.id}:before", f"no table before; it has: none yet.*{FIRST.id}/SUITE"),
        (f"{FIRST.id}/before@ring", "has no variant ring; its variants are: default"),
    ):
        with pytest.raises(UsageError, match=words):
            read(both, text)


def test_a_stage_stands_for_the_launches_of_its_table(both: Database) -> None:
    for suite in ("before", "before-2", "search-1", "confirm-1"):
        put(both, suite, 0, [Timed()])
    table = [build.verdict("before"), build.verdict("before", suites=["before", "before-2"])]
    findings.put_verdicts(both, FIRST.id, "before", table)
    findings.put_verdicts(both, FIRST.id, "after", [build.verdict("after", suites=["confirm-1"])])
    assert read(both, FIRST.id).suites == ["before", "before-2"]
    assert len(read(both, FIRST.id).launches) == 2
    assert read(both, f"{FIRST.id}:after").suites == ["confirm-1"]


def test_launches_of_a_side_that_do_not_belong_together(both: Database) -> None:
    put(both, "before", 0, [Timed()], factors=[Factor("governor", ["performance"])])
    put(both, "before", 1, [Timed()], factors=[Factor("governor", ["powersave"])])
    with pytest.raises(PlumblineError, match=r"not joined.*governor.*RUN/SUITE"):
        read(both, f"{FIRST.id}/before")


# --- pairs --------------------------------------------------------------------------------------


def test_launches_that_take_turns_are_paired(both: Database) -> None:
    for sequence in range(4):
        order = ["confirm-1", "confirm-1-default"]
        for suite in order if sequence % 2 == 0 else order[::-1]:
            put(both, suite, sequence, [Timed()])
    a, b = (read(both, f"{FIRST.id}/{suite}") for suite in ("confirm-1", "confirm-1-default"))
    pairs, why = compare.pairing(a, b)
    assert pairs is not None and "take turns" in why
    numbers = {run: name for name, side in (("a", a), ("b", b)) for run in _numbers(side)}
    assert [(numbers[one], numbers[other]) for one, other in pairs] == [("a", "b")] * 4
    assert all(abs(one - other) == 1 for one, other in pairs)


@pytest.mark.parametrize("order", ["aabb", "aab", "aabbab"])
def test_launches_that_do_not_take_turns_are_not_paired(both: Database, order: str) -> None:
    for sequence, suite in enumerate(order):
        put(both, suite, sequence, [Timed()])
    pairs, why = compare.pairing(read(both, f"{FIRST.id}/a"), read(both, f"{FIRST.id}/b"))
    assert pairs is None and "do not take turns" in why


def test_variants_of_the_same_launches_are_paired(both: Database) -> None:
    mockup = Timed(variant=build.REDUCE_PLUS_BCAST, median_ns=23_300)
    for sequence in range(8):
        put(both, "before", sequence, [Timed(), mockup])
    name = f"{FIRST.id}/before"
    found = compared(both, f"{name}@default", f"{name}@{build.REDUCE_PLUS_BCAST}")
    (line,) = found.lines
    assert (found.test, found.paired, line.pairs) == ("signed-rank", True, 8)
    assert line.verdict == "B faster" and line.factor == pytest.approx(43 / 23.3, rel=0.02)
    with pytest.raises(UsageError, match="share launches"):
        compared(both, name, name)
    with pytest.raises(UsageError, match="on both sides, or on neither"):
        compared(both, f"{name}@default", name)


def test_a_pair_counts_when_both_launches_have_the_cell(both: Database) -> None:
    for sequence in range(6):
        broken = Timed(bytes=4, outcome="wrong" if sequence == 3 else "ok")
        put(both, "a", sequence, [Timed(), broken])
        put(both, "b", sequence, [Timed(), Timed(bytes=4)])
    found = compared(both, f"{FIRST.id}/a", f"{FIRST.id}/b")
    assert [(line.cell.bytes, line.pairs) for line in found.lines] == [(4, 5), (16384, 6)]


def six_launches_of_18_cells(db: Database) -> tuple[str, str]:
    """The first two cells take 2.2 times as long on side A."""
    random_ = random.Random(11)
    for sequence in range(6):
        for suite in ("a", "b"):
            slow = 2.2 if suite == "a" else 1.0
            put(
                db,
                suite,
                sequence,
                [
                    Timed(
                        bytes=8 << number,
                        median_ns=int(
                            random_.uniform(0.97, 1.03) * 1e5 * (slow if number < 2 else 1)
                        ),
                    )
                    for number in range(18)
                ],
            )
    return f"{FIRST.id}/a", f"{FIRST.id}/b"


def test_few_launches_of_many_cells_have_intervals_that_hold_together(both: Database) -> None:
    names = six_launches_of_18_cells(both)
    found = compared(both, *names)
    assert found.test == "student" and found.paired
    assert found.limits.startswith(
        "6 launches a side can show no difference in fewer than 12 cells with signed-rank among "
        "18 cells: the smallest p is 0.031 before it is adjusted. So the test is"
    )
    assert [line.verdict for line in found.lines] == ["B faster"] * 2 + ["not shown"] * 16
    for line in found.lines:
        assert line.ratio_low is not None and line.ratio_high is not None
        excluded = not line.ratio_low <= 1 <= line.ratio_high
        assert excluded == (line.verdict == "B faster")
    # A test that was asked for is made, and what it cannot show is said.
    by_ranks = compared(both, *names, test="signed-rank")
    assert by_ranks.count("not shown") == 18 and by_ranks.limits.endswith("adjusted")
    assert compared(both, *names, test="signed-rank", alpha=0.02).limits.startswith(
        "6 launches a side can show nothing with signed-rank"
    )


# --- what is computed ---------------------------------------------------------------------------


@pytest.fixture
def planted(both: Database) -> Database:
    """The second library is 1.5 times as fast at 1 KiB, 1.2 times as slow at 64 B, equal at 8 B;
    launches have a factor of their own."""
    random_ = random.Random(7)
    for campaign, factors in ((FIRST, {1024: 1.5, 64: 1.0, 8: 1.0}), (SECOND, {64: 1.2})):
        for sequence in range(14):
            shared = random_.uniform(0.97, 1.03)
            put(
                both,
                "before",
                sequence,
                [
                    Timed(bytes=size, median_ns=int(20_000 * shared * factors.get(size, 1.0)))
                    for size in (8, 64, 1024)
                ],
                campaign=campaign,
                library=OTHER.version_string if campaign is SECOND else "Open MPI v4.1.4",
            )
    return both


A, B = f"{FIRST.id}/before", "c-2/before"


def test_sides_of_different_campaigns_differ_and_none_is_called_faster(planted: Database) -> None:
    found = compared(planted, A, B)
    assert (found.test, found.paired) == ("rank-sum", False)
    assert "different runs" in found.why
    equal, slower, faster = found.lines
    assert [line.cell.bytes for line in found.lines] == [8, 64, 1024]
    assert equal.verdict == "not shown"
    assert slower.verdict == faster.verdict == "differs (unpaired)"
    assert slower.ratio == pytest.approx(1 / 1.2, rel=0.03)
    assert faster.ratio == pytest.approx(1.5, rel=0.03)
    assert faster.ratio_low is not None and faster.ratio_high is not None
    assert faster.ratio_low < 1.5 < faster.ratio_high
    assert (found.count("differs (unpaired)"), found.count("not shown")) == (2, 1)
    # p is as small as can be; and still no side is called faster, and nothing is asserted by signs.
    assert faster.p_adjusted is not None and faster.p_adjusted < 0.001
    assert {line.stars for line in found.lines} == {""}
    assert {line.factor for line in found.lines} == {None}


def test_p_is_that_of_scipy(planted: Database) -> None:
    """Rank-sum and signed-rank without ties are exact in both; Benjamini-Hochberg as well."""
    found = compared(planted, A, B)
    times = [_times(planted, FIRST.id, ["before"]), _times(planted, SECOND.id, ["before"])]
    expected = [
        stats.mannwhitneyu(times[0][size], times[1][size], method="exact").pvalue
        for size in (8, 64, 1024)
    ]
    assert [line.p for line in found.lines] == pytest.approx(expected, rel=1e-9)
    adjusted = stats.false_discovery_control(expected)
    assert [line.p_adjusted for line in found.lines] == pytest.approx(list(adjusted), rel=1e-9)


def test_paired_p_is_that_of_scipy(both: Database) -> None:
    random_ = random.Random(3)
    for sequence in range(10):
        shared = random_.uniform(0.5, 2.0)
        for suite, factor in (("a", 1.02), ("b", 1.0)):
            put(both, suite, sequence, [Timed(median_ns=int(1e6 * shared * factor))])
    found = compared(both, f"{FIRST.id}/a", f"{FIRST.id}/b")
    (line,) = found.lines
    left, right = (_times(both, FIRST.id, [suite])[16384] for suite in ("a", "b"))
    logs = [math.log(a / b) for a, b in zip(left, right, strict=True)]
    assert line.p == pytest.approx(stats.wilcoxon(logs, method="exact").pvalue, rel=1e-9)
    # Launches differ by a factor of four, and still two per cent are seen.
    assert (line.verdict, line.stars) == ("B faster", "**")
    assert line.factor == pytest.approx(1.02, abs=0.01)
    unpaired = compared(both, f"{FIRST.id}/a", f"{FIRST.id}/b", test="rank-sum")
    assert unpaired.lines[0].verdict == "not shown" and unpaired.lines[0].pairs is None


@pytest.mark.parametrize(("alternative", "shown"), [("less", [64]), ("greater", [1024])])
def test_alternatives(planted: Database, alternative: str, shown: list[int]) -> None:
    found = compared(planted, A, B, alternative=alternative)
    assert [one.cell.bytes for one in found.lines if one.verdict != "not shown"] == shown


@pytest.mark.parametrize("test", ["rank-sum", "kolmogorov-smirnov", "brunner-munzel"])
def test_every_unpaired_test(planted: Database, test: str) -> None:
    found = compared(planted, A, B, test=test)
    assert (found.test, found.paired, found.together) == (test, False, False)
    assert [line.verdict == "not shown" for line in found.lines] == [True, False, False]


@pytest.fixture
def in_turn(both: Database) -> tuple[str, str]:
    """Launches of two suites in turn: the second is 1.5 times as fast at 8 B; at 64 B it has the
    same centre, and ten times the spread."""
    random_ = random.Random(5)
    for sequence in range(20):
        side = 1 if sequence % 2 else -1
        near = 20_000 + side * random_.randint(10, 200)
        far = 20_000 + side * random_.randint(4_000, 8_000)
        for suite, fast, wide in (("a", 30_000, near), ("b", 20_000, far)):
            fast += random_.randint(0, 500)
            put(
                both,
                suite,
                sequence,
                [Timed(bytes=8, median_ns=fast), Timed(bytes=64, median_ns=wide)],
            )
    return f"{FIRST.id}/a", f"{FIRST.id}/b"


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_a_difference_in_spread_makes_no_side_faster(
    both: Database, in_turn: tuple[str, str], alternative: str
) -> None:
    found = compared(both, *in_turn, test="kolmogorov-smirnov", alternative=alternative)
    fast, wide = found.lines
    assert found.together and not found.paired
    assert (wide.verdict, wide.factor) == ("differs", None)
    assert fast.verdict == ("not shown" if alternative == "less" else "differs")
    assert fast.factor is None


@pytest.mark.parametrize("test", ["rank-sum", "brunner-munzel", "signed-rank"])
def test_tests_of_location_name_the_faster_of_sides_measured_in_turn(
    both: Database, in_turn: tuple[str, str], test: str
) -> None:
    fast, wide = compared(both, *in_turn, test=test).lines
    assert fast.verdict == "B faster" and fast.factor == pytest.approx(1.5, rel=0.03)
    assert fast.stars and wide.verdict == "not shown"


def test_tests_that_do_not_fit(planted: Database) -> None:
    with pytest.raises(UsageError, match=r"pairs of launches.*different runs.*rank-sum"):
        compared(planted, A, B, test="signed-rank")
    with pytest.raises(UsageError, match="unknown test t-test; choose one of: auto, signed-rank"):
        compared(planted, A, B, test="t-test")


def test_outliers_reach_the_mean_unless_they_are_filtered(both: Database) -> None:
    """One sample in fifty is a hundred times as long, on one side alone."""
    for campaign in (FIRST, SECOND):
        for sequence in range(8):
            launch = build.run("before", sequence, campaign=campaign)
            records = [
                _with_outlier(record) if campaign is SECOND else record
                for record in build.records(launch, [Timed()])
            ]
            runs.put(both, launch, records)
    (plain,) = compared(both, A, B, average="mean").lines
    (filtered,) = compared(both, A, B, average="mean", outliers="tukey").lines
    (median,) = compared(both, A, B).lines
    assert plain.ratio is not None and 1 / plain.ratio == pytest.approx(1 + 99 / 50, rel=0.05)
    assert filtered.ratio == pytest.approx(1, abs=0.02)
    assert median.ratio == pytest.approx(1, abs=0.02)


def test_what_was_refused_is_not_compared(planted: Database) -> None:
    launch = build.run("before", 99, campaign=SECOND)
    head, *records, footer = build.records(launch, [Timed(bytes=8, median_ns=1)])
    assert isinstance(head, Header)
    head = msgspec.structs.replace(head, library=OTHER.version_string)
    runs.put(planted, launch, [head, *records, Refused(0, "too short"), footer])
    assert compared(planted, A, B).lines[0].b.launches == 14


def test_times_that_the_timer_cannot_see(both: Database) -> None:
    for campaign in (FIRST, SECOND):
        for sequence in range(6):
            put(both, "before", sequence, [Timed(median_ns=0), Timed(bytes=4)], campaign=campaign)
    small, zero = compared(both, A, B).lines
    assert small.verdict == "not shown"
    assert (zero.verdict, zero.p_adjusted) == ("not compared", None)
    assert "too short for the timer" in zero.reason


# --- when it was measured, and what else ran ----------------------------------------------------


def test_time_and_load_of_both_sides(both: Database) -> None:
    """Of B's launches, ten minutes later, most ran beside 1.5 processors of other work."""
    for campaign, minute, busy in ((FIRST, 0, [0.0] * 5), (SECOND, 10, [0.0, 1.5, 1.5, 1.5, 1.6])):
        for sequence in range(5):
            launch = build.run("before", sequence, campaign=campaign)
            started = f"2025-03-01T10:{minute + sequence:02}:00Z"
            launch = msgspec.structs.replace(launch, started=started, seconds=30.0)
            *records, footer = build.records(launch, [Timed()])
            footer = msgspec.structs.replace(footer, wall_ns=2_000_000_000)  # type: ignore[type-var]
            host = HostLoad("node1", 0.5, 0.5, 2 * (1 + busy[sequence]), 2.0, 0.02)
            quiet = HostLoad("node2", 0.5, 0.5, 2.0, 2.0, None)
            runs.put(both, launch, [*records, Load([host, quiet]), footer])
    found = compared(both, A, B)
    assert (found.a.first, found.a.last) == (
        "2025-03-01T10:00:00+00:00",
        "2025-03-01T10:04:30+00:00",
    )
    assert (found.b.first, found.b.last) == (
        "2025-03-01T10:10:00+00:00",
        "2025-03-01T10:14:30+00:00",
    )
    assert (found.a.launches_with_load, found.b.launches_with_load) == (5, 5)
    assert (found.a.other_processors, found.b.other_processors) == pytest.approx((0.0, 1.5))
    assert found.b.stolen_processors == pytest.approx(0.01)
    (text,) = sides.load_differences(found.a, found.b)
    assert text == "other work: A 0.00, B 1.50 processors"
    assert sides.load_differences(found.a, found.a) == []


def test_load_that_is_not_known(planted: Database) -> None:
    found = compared(planted, A, B)
    assert (found.a.launches_with_load, found.a.other_processors) == (0, None)
    assert sides.load_differences(found.a, found.b) == []


# --- what is matched, and what differs ----------------------------------------------------------


def test_cells_are_matched_by_everything_they_are(both: Database) -> None:
    mockup = Timed(variant=build.REDUCE_PLUS_BCAST)
    for sequence in range(3):
        put(both, "before", sequence, [Timed(), Timed(bytes=4), mockup])
        put(both, "before", sequence, [Timed(), mockup, Timed("MPI_Bcast")], campaign=SECOND)
    found = compared(both, A, B)
    assert [(line.cell.function, line.cell.bytes) for line in found.lines] == [
        ("MPI_Allreduce", 16384)
    ]
    assert (found.only_a, found.only_b) == (1, 1)
    assert len(compared(both, A, B, all_variants=True).lines) == 2


def test_delays_and_settings_are_part_of_a_cell(both: Database) -> None:
    knobs = {"c1": {"coll_tuned_allreduce_algorithm": "5"}}
    for campaign in (FIRST, SECOND):
        launch = build.run("before", 0, campaign=campaign)
        records = build.records(launch, [Timed(), Timed(), Timed(config="c1")], knobs=knobs)
        records = [
            msgspec.structs.replace(one, delay_ns=700)
            if isinstance(one, CaseRecord) and one.case == 1
            else one
            for one in records
        ]
        runs.put(both, launch, records)
    cells = [line.cell for line in compared(both, A, B).lines]
    assert [(cell.settings, cell.delay_ns) for cell in cells] == [
        ("", 0),
        ("", 700),
        ("coll_tuned_allreduce_algorithm=5", 0),
    ]


def test_no_cell_on_both_sides(both: Database) -> None:
    put(both, "before", 0, [Timed(bytes=4)])
    put(both, "before", 0, [Timed(bytes=8)], campaign=SECOND)
    with pytest.raises(UsageError, match=r"no cell is on both sides.*\(4 … B\).*\(8 … B\)"):
        compared(both, A, B)
    put(both, "more", 0, [Timed(bytes=4)], campaign=SECOND, nprocs=8)
    with pytest.raises(UsageError, match=r"4 ranks; B has .*8 ranks"):
        compared(both, A, "c-2/more")


def test_factors_that_differ_are_listed(both: Database) -> None:
    changes = {"oversubscribed": False, "environment": {"UCX_TLS": "tcp"}}
    put(both, "before", 0, [Timed()], environment={})
    put(both, "before", 0, [Timed()], campaign=SECOND, **changes)
    found = {
        one.factor: [(value, names) for value, names in one.values]
        for one in compared(both, A, B).differences
    }
    assert found == {
        "oversubscribed": [("yes", ["A"]), ("no", ["B"])],
        "environment UCX_TLS": [("not set", ["A"]), ("tcp", ["B"])],
        "library build compiler": [("not known", ["A"]), ("GNU 14.2.1", ["B"])],
    }


def test_sides_from_two_databases(planted: Database, tmp_path: Path) -> None:
    with Database.open(tmp_path / "other.db", write=True) as other:
        build.started(other, FIRST)
        for sequence in range(14):
            put(other, "before", sequence, [Timed(bytes=64, median_ns=10_000)])
        found = compare.compare(read(planted, A), read(other, A), How())
    assert found.test == "rank-sum"
    assert [(line.cell.bytes, line.verdict) for line in found.lines] == [(64, "differs (unpaired)")]


def _numbers(side: sides.ComparedSide) -> Iterator[int]:
    return (launch.number for launch in side.launches)


def _times(db: Database, campaign: str, suites: list[str]) -> dict[int, list[float]]:
    return {one.case.bytes: one.seconds for one in runs.medians(db, campaign, suites)}


def _with_outlier(record: ProbeRecord) -> ProbeRecord:
    if isinstance(record, Samples):
        return msgspec.structs.replace(record, ns=[100 * record.ns[0], *record.ns[1:]])
    return record
