"""Launches: stored whole and once, read back as they were, summed up per launch."""

from __future__ import annotations

import inspect
import re
import statistics
import typing

import msgspec
import pytest
from hypothesis import given

from plumbline_db import launch_records, runs, table_samples
from plumbline_db.connection import Database
from plumbline_db.cost import Cost, cost
from plumbline_db.probe_records import (
    CaseRecord,
    Check,
    ConfigRecord,
    Footer,
    HostLoad,
    Load,
    ProbeRecord,
    Refused,
    Samples,
    Transit,
    UnderWay,
)
from plumbline_db.records import Failure, Run, Suite
from tests.db import build, strategies
from tests.db.build import Timed

CAMPAIGN = build.CAMPAIGN.id


def put(db: Database, run: Run, cases: list[Timed], **how: object) -> list[ProbeRecord]:
    records = build.records(run, cases, **how)  # type: ignore[arg-type]
    runs.put(db, run, records)
    return records


@strategies.in_one_database
@given(records=strategies.launches())
def test_records_come_back(started: Database, records: list[ProbeRecord]) -> None:
    sequence = len(runs.listing(started, CAMPAIGN))
    launch = build.run("any", sequence)
    runs.put(started, launch, records)
    assert runs.get(started, CAMPAIGN, "any", sequence) == launch
    assert launch_records.of_run(started, launch.id) == records
    assert runs.header(started, launch.id) == records[0]


def test_launch_without_records(started: Database) -> None:
    launch = msgspec.structs.replace(build.run(), failure=Failure("ended", "no such program"))
    runs.put(started, launch, [])
    assert runs.get(started, CAMPAIGN, "before", 0) == launch
    assert runs.header(started, launch.id) is None
    assert runs.header(started, "unheard-of") is None
    assert runs.get(started, CAMPAIGN, "before", 1) is None


def test_putting_again_changes_nothing(started: Database) -> None:
    launch = build.run()
    records = put(started, launch, [Timed()])
    later = msgspec.structs.replace(launch, seconds=99.0, stderr="again")
    runs.put(started, later, records)
    assert runs.listing(started, CAMPAIGN) == [launch]
    assert [one.blocks for one in runs.samples(started, launch.id, 0)] == [[0, 1, 2, 3, 4]]


def test_another_plan_under_the_same_key_is_a_bug(started: Database) -> None:
    launch = build.run()
    put(started, launch, [Timed()])
    with pytest.raises(ValueError, match="stored with another plan"):
        runs.put(started, msgspec.structs.replace(launch, plan="plumbline-plan 1\n"), [])
    with pytest.raises(ValueError, match="belongs to another launch"):
        runs.put(started, msgspec.structs.replace(launch, sequence=1), [])
    with pytest.raises(ValueError, match="campaign nowhere is not stored"):
        runs.put(started, msgspec.structs.replace(launch, campaign="nowhere"), [])


def test_records_that_do_not_fit_store_nothing(started: Database) -> None:
    launch = build.run()
    records = build.records(launch, [Timed(config="c1")])
    with pytest.raises(ValueError, match="config c1"):
        runs.put(started, launch, records)
    too_long = [*build.records(launch, [Timed()]), build.of_a_block(0, 9, [], [2**63])]
    with pytest.raises(OverflowError):
        runs.put(started, launch, too_long)
    assert runs.listing(started, CAMPAIGN) == []
    assert started.row("SELECT count(*) FROM cell_time") == (0,)
    assert started.row("SELECT count(*) FROM suite") == (0,)


def test_listing_by_suite(started: Database) -> None:
    names = [("before", 0), ("search-1", 0), ("before", 1), ("confirm-1", 0)]
    launches = [build.run(*name) for name in names]
    for launch in launches:
        put(started, launch, [Timed()])
    assert runs.listing(started, CAMPAIGN) == launches
    assert runs.listing(started, CAMPAIGN, ["confirm-1", "before"]) == [
        launches[0],
        launches[2],
        launches[3],
    ]
    assert runs.listing(started, CAMPAIGN, []) == []
    assert runs.listing(started, "another") == []


def test_checks_name_the_case_with_its_knobs(started: Database) -> None:
    launch = build.run()
    knobs = {"c1": {"coll_tuned_allreduce_algorithm": "5"}}
    cases = [Timed(), Timed(config="c1", outcome="wrong")]
    put(started, launch, cases, knobs=knobs)
    (plain, ok), (tuned, wrong) = runs.checks(started, CAMPAIGN, "before", 0)
    assert plain.knobs == {} and ok == Check(0, "ok", "")
    assert tuned.knobs == knobs["c1"] and tuned.config == "c1"
    assert wrong == Check(1, "wrong", "at byte 7")


def test_samples_are_raw_and_complete(started: Database) -> None:
    launch = build.run()
    records = put(started, launch, [Timed(), Timed(bytes=4)])
    stored = [s for case in (0, 1) for s in runs.samples(started, launch.id, case)]
    written = [record for record in records if isinstance(record, Samples)]
    assert sorted(stored, key=repr) == sorted(written, key=repr)
    assert stored[0].warmups == [16, 1, 1, 1, 1]


def test_medians_are_of_all_blocks_without_warm_up(started: Database) -> None:
    launch = build.run()
    records = put(started, launch, [Timed()])
    times = [ns for record in records if isinstance(record, Samples) for ns in record.ns]
    (found,) = runs.medians(started, CAMPAIGN, ["before"])
    assert len(times) == 50
    assert found.seconds == [pytest.approx(1e-9 * statistics.median(times), rel=1e-12)]
    assert found.case.function == "MPI_Allreduce" and found.case.bytes == 16384


def test_medians_pair_launches_by_number(started: Database) -> None:
    """A launch in which a case was wrong is missing from that case alone."""
    for suite, sequence in (("more", 0), ("before", 1), ("before", 0)):
        small = Timed(bytes=4)
        if (suite, sequence) == ("before", 1):
            small = Timed(bytes=4, outcome="wrong")
        put(started, build.run(suite, sequence), [Timed(), small])
    large, other = runs.medians(started, CAMPAIGN, ["before", "more", "before"])
    assert len(set(large.runs)) == 3
    assert other.runs == [large.runs[0], large.runs[2]]
    (alone, _) = runs.medians(started, CAMPAIGN, ["more"])
    assert alone.runs == large.runs[2:]
    assert alone.seconds == large.seconds[2:]


def test_medians_tell_cases_apart(started: Database) -> None:
    """By config id too: the same function under two names is the A/A comparison."""
    knobs = {"plain": {}, "c1": {"coll_tuned_allreduce_algorithm": "5"}}
    cases = [Timed(), Timed(config="plain"), Timed(config="c1"), Timed(variant="library")]
    put(started, build.run(), [*cases, Timed(bytes=8), Timed(function="MPI_Bcast")], knobs=knobs)
    found = [median.case for median in runs.medians(started, CAMPAIGN, ["before"])]
    assert len(found) == 6
    assert {case.config: case.knobs for case in found} == {
        "default": {},
        "plain": {},
        "c1": knobs["c1"],
    }


def test_medians_pool_a_case_that_a_plan_names_twice(started: Database) -> None:
    put(started, build.run(), [Timed(median_ns=10_000), Timed(median_ns=20_000)], reps=9)
    (found,) = runs.medians(started, CAMPAIGN, ["before"])
    assert 10_300 < found.seconds[0] * 1e9 < 19_400


def test_medians_leave_out_samples_of_a_wrong_case(started: Database) -> None:
    launch = build.run()
    records = [
        Check(record.case, "wrong", "") if isinstance(record, Check) else record
        for record in build.records(launch, [Timed()])
    ]
    runs.put(started, launch, records)
    assert runs.medians(started, CAMPAIGN, ["before"]) == []


def test_medians_leave_out_failed_launches(started: Database) -> None:
    launch = msgspec.structs.replace(build.run(), failure=Failure("ended", "time-out"))
    records = build.records(launch, [Timed()])[:-1]
    runs.put(started, launch, records)
    assert runs.medians(started, CAMPAIGN, ["before"]) == []
    assert [one.blocks for one in runs.samples(started, launch.id, 0)] == [[0, 1, 2, 3, 4]]


def test_medians_leave_out_what_was_refused(started: Database) -> None:
    """In the launch that refused it alone; the samples are kept."""
    for sequence in range(2):
        launch = build.run(sequence=sequence)
        *records, footer = build.records(launch, [Timed(), Timed(bytes=4)])
        refusal = Refused(1, "shorter than 10 times the error of the clock")
        runs.put(started, launch, [*records, *([refusal] if sequence == 0 else []), footer])
    large, small = runs.medians(started, CAMPAIGN, ["before"])
    assert (large.case.bytes, len(large.runs)) == (16384, 2)
    assert (small.case.bytes, small.runs) == (4, large.runs[1:])
    ((case, found),) = runs.refusals(started, CAMPAIGN, ["before"])
    assert case == small.case and found == refusal
    assert runs.refusals(started, CAMPAIGN, ["after"]) == []
    (kept,) = runs.samples(started, build.run().id, 1)
    assert len(kept.blocks) == 5


def test_medians_leave_out_blocks_of_a_transit(started: Database) -> None:
    launch = build.run()
    *records, footer = build.records(launch, [Timed(), Timed(bytes=4)])
    slow = build.changed_blocks(
        records,
        lambda one: (
            one._replace(ns=[10**9] * 10, settled=False)
            if (one.case, one.block < 3) == (1, True)
            else one
        ),
    )
    runs.put(started, launch, [*slow, Transit(1, 3), footer])
    large, small = runs.launch_samples(started, CAMPAIGN, ["before"])
    assert (len(large.ns[0]), len(small.ns[0])) == (50, 20)
    assert small.ns[0].max() < 10**9
    (first,) = table_samples.first_blocks(started, CAMPAIGN, unsettled=True)
    assert (first.case.bytes, first.transit, first.samples.settled[0]) == (4, 3, False)
    assert first.samples.ns[:10] == [10**9] * 10 and first.samples.warmups[0] == 16
    assert len(table_samples.first_blocks(started, CAMPAIGN, unsettled=False)) == 2


def test_delay_tells_cases_apart(started: Database) -> None:
    launch = build.run()
    records = build.records(launch, [Timed(), Timed()])
    delayed = [
        msgspec.structs.replace(record, delay_ns=700)
        if isinstance(record, CaseRecord) and record.case == 1
        else record
        for record in records
    ]
    runs.put(started, launch, delayed)
    found = runs.medians(started, CAMPAIGN, ["before"])
    assert [median.case.delay_ns for median in found] == [0, 700]
    assert [case.delay_ns for case, _ in runs.checks(started, CAMPAIGN, "before", 0)] == [0, 700]


def test_launch_samples_are_all_of_a_launch_in_their_order(started: Database) -> None:
    launch = build.run()
    records = put(started, launch, [Timed(), Timed(bytes=4)])
    large, small = runs.launch_samples(started, CAMPAIGN, ["before"])
    assert (large.case.bytes, small.case.bytes) == (16384, 4)
    for number, found in enumerate((large, small)):
        blocks = [r for r in records if isinstance(r, Samples) and r.case == number]
        assert found.ns[0].tolist() == [ns for block in blocks for ns in block.ns]


def test_surroundings_are_of_finished_launches(started: Database) -> None:
    load = Load([HostLoad("node1", 0.1, 0.4, 3.0, 2.5, None)])
    for suite, sequence in (("before", 0), ("search-1", 0), ("before", 1)):
        launch = build.run(suite, sequence)
        *records, footer = build.records(launch, [Timed()])
        runs.put(started, launch, [*records, *([load] if sequence == 0 else []), footer])
    failed = msgspec.structs.replace(build.run("before", 2), failure=build.EXIT)
    runs.put(started, failed, build.records(failed, [Timed()])[:-1])
    found = runs.surroundings(started, CAMPAIGN, ["before"])
    assert [(one.suite, one.load) for one in found] == [("before", load), ("before", None)]
    assert found[0].header == runs.header(started, found[0].run)
    assert len(runs.surroundings(started, CAMPAIGN)) == 3
    assert found[0].wall_seconds == pytest.approx(records_wall(started, found[0].run))


def records_wall(db: Database, run: str) -> float:
    (footer,) = [one for one in launch_records.of_run(db, run) if isinstance(one, Footer)]
    return footer.wall_ns / 1e9


def test_first_header_is_of_a_finished_launch(started: Database) -> None:
    assert runs.first_header(started, CAMPAIGN) is None
    failed = msgspec.structs.replace(build.run("before", 0), failure=build.EXIT)
    runs.put(started, failed, build.records(failed, [Timed()])[:-1])
    for suite, sequence in (("search-1", 0), ("before", 1), ("before", 2)):
        put(started, build.run(suite, sequence), [Timed()])
    first, second = build.run("search-1", 0).id, build.run("before", 1).id
    assert runs.first_header(started, CAMPAIGN) == (first, runs.header(started, first))
    assert runs.first_header(started, CAMPAIGN, "before") == (second, runs.header(started, second))
    assert runs.first_header(started, CAMPAIGN, "after") is None


def test_configurations_are_stored_once(started: Database) -> None:
    knobs = {"c1": {"a": "1", "b": "2"}, "c2": {"b": "2", "a": "1"}, "c3": {"a": "2"}}
    for sequence in range(3):
        put(started, build.run(sequence=sequence), [Timed(config="c1")], knobs=knobs)
    stored = started.rows("SELECT knobs FROM configuration ORDER BY length(knobs)")
    assert stored == [("{}",), ('{"a":"2"}',), ('{"a":"1","b":"2"}',)]


def test_configuration_that_was_not_in_force_keeps_its_reason(started: Database) -> None:
    launch = build.run()
    head, *rest = build.records(launch, [Timed(config="c1", outcome="not_in_force")])
    refused = ConfigRecord("c1", False, "no such variable", {})
    runs.put(started, launch, [head, refused, *rest])
    assert refused in launch_records.of_run(started, launch.id)
    assert runs.medians(started, CAMPAIGN, ["before"]) == []


def test_medians_of_some_sizes(started: Database) -> None:
    put(started, build.run(), [Timed(bytes=4), Timed(bytes=8), Timed(bytes=16384)])
    found = runs.medians(started, CAMPAIGN, ["before"], sizes={4, 16384, 5})
    assert [one.case.bytes for one in found] == [4, 16384]
    assert runs.medians(started, CAMPAIGN, ["before"], sizes=()) == []


def test_the_span_of_a_campaign_is_that_of_its_launches(started: Database) -> None:
    assert runs.span(started, CAMPAIGN) is None
    for sequence, (begun, seconds) in enumerate(
        [
            ("2025-03-01T10:59:58Z", 5.0),
            ("2025-03-01T10:00:01Z", 0.5),
            ("2025-03-01T10:59:59Z", 1.0),
        ]
    ):
        launch = build.run(sequence=sequence)
        put(started, msgspec.structs.replace(launch, started=begun, seconds=seconds), [Timed()])
    assert runs.span(started, CAMPAIGN) == ("2025-03-01T10:00:01Z", "2025-03-01T11:00:03+00:00")


def test_medians_of_a_whole_campaign(started: Database) -> None:
    cases = [Timed(bytes=size) for size in range(500)]
    for sequence in range(12):
        put(started, build.run(sequence=sequence), cases)
    found = runs.medians(started, CAMPAIGN, ["before"])
    assert len(found) == 500 and all(len(median.runs) == 12 for median in found)


def test_cost(started: Database) -> None:
    put(started, build.run(), [Timed(), Timed(variant="library"), Timed(bytes=4)])
    put(started, build.run(sequence=1), [Timed(), Timed(bytes=8, outcome="wrong")])
    failed = msgspec.structs.replace(build.run(sequence=2), failure=build.EXIT, timed_seconds=0.0)
    runs.put(started, failed, [])
    for suite in (Suite("explain"), Suite("explain", step="Bcast-8", arm="0")):  # afterwards
        launch = build.run(suite.name)
        runs.put(started, launch, build.records(launch, [Timed(bytes=16)]), suite)
    for visit in (1, 2):  # of ranks that stay alive
        launch = build.run("search", visit)
        kept = msgspec.structs.replace(launch, member="m", visit=visit, seconds=0, timed_seconds=0)
        runs.put(started, kept, build.records(kept, [Timed()]))
        assert runs.get(started, CAMPAIGN, "search", visit) == kept
    found = cost(started, CAMPAIGN)
    assert (found.launches, found.starts, found.failed, found.cells) == (5, 4, 1, 2)
    assert found.seconds == pytest.approx(2.7) and found.timed_seconds == pytest.approx(0.8)
    assert cost(started, "another") == Cost(0, 0, 0, 0, 0.0, 0.0)


def test_case_records_have_no_gap_in_the_schema(started: Database) -> None:
    """Every field of a case is a column, so nothing the probe says can be forgotten."""
    tables = ("cell_time", "planned_case")
    columns = {row[1] for t in tables for row in started.rows(f"PRAGMA table_info({t})")}
    fields = {"case_id" if f == "case" else f for f in CaseRecord.__struct_fields__}
    assert fields <= columns


def test_every_record_of_the_probe_is_made_by_the_strategy() -> None:
    """So that a record which is added and not stored turns `test_records_come_back` red."""
    source = inspect.getsource(strategies)
    for record in typing.get_args(ProbeRecord):
        if record is UnderWay:  # of launches that came to no end, and stored with their failure
            continue
        assert re.search(rf"\b{record.__name__}[(,)]", source), record.__name__
