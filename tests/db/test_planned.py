"""Records against their plan: what is as it asks for is taken, anything else is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from plumbline_db.planned import Planned, UnplannedError
from plumbline_db.probe_records import (
    CaseRecord,
    Check,
    ConfigRecord,
    Criterion,
    Footer,
    Header,
    Nrep,
    Order,
    Overlap,
    OverlapTrace,
    PingPong,
    ProbeRecord,
    RankSamples,
    Refused,
    Samples,
    Transit,
)
from tests.db import build
from tests.db.build import Timed

replace = msgspec.structs.replace
KNOBS = {"c1": {"coll_tuned_bcast_algorithm": "5"}}
CASES = [Timed(), Timed(config="c1"), Timed(bytes=64, outcome="wrong"), Timed(bytes=128)]
RECORDS = build.records(build.run(), CASES, knobs=KNOBS, blocks=2, reps=3)
PLAN = build.plan(RECORDS)
MORE = (
    "pingpong bytes=8 reps=2\noverlap id=4 bench=sender bytes=64 work_ns=100 kernel=registers "
    "test_ns=0 requests=1 triples=3 traced=1\n"
)
CELL = Overlap(
    4, "sender", 64, 64, "registers", 100, 0, 90, 1, 1, 0, "", 1, 0, False, False, True,
    [1, 2, 3], [4, 5, 6], [7, 8, 9],
)  # fmt: skip
TRACE = OverlapTrace(4, 1, 2, "both", ["MPI_Wait"], [-1], [0], [-5], [9])
END = replace(RECORDS[-1], timed_ns=10**9)
EXTRA: list[ProbeRecord] = [PingPong(0, 3, "same_socket", 8, [5, 6]), CELL, TRACE]


def judge(plan: str, records: list[ProbeRecord], seconds: float = math.inf) -> None:
    planned = Planned(plan, seconds)
    for record in records:
        planned.accept(record)
    planned.end()


def refused(plan: str, records: list[ProbeRecord], message: str, seconds: float = math.inf) -> None:
    with pytest.raises(UnplannedError, match=message):
        judge(plan, records, seconds)


def changed(
    records: list[ProbeRecord], kind: type[Any], change: Callable[[Any], Any], which: int = 0
) -> list[ProbeRecord]:
    """With one record of a kind changed, or left out where `change` gives None."""
    index = [i for i, one in enumerate(records) if isinstance(one, kind)][which]
    new = change(records[index])
    return [*records[:index], *([] if new is None else [new]), *records[index + 1 :]]


def test_what_the_plan_asks_for() -> None:
    judge(PLAN, RECORDS)
    judge(PLAN + MORE, [*RECORDS[:-1], *EXTRA, END])


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (Header, {"run": "before-004"}, "run is before-004"),
        (Header, {"seed": 99}, "seed is 99, 0 in the plan"),
        (Header, {"blocks": 3}, "blocks is 3, 2 in the plan"),
        (Header, {"sync": "window"}, "sync is window, barrier in the plan"),
        (Header, {"runtime": "global"}, "runtime is global"),
        (Header, {"nprocs": 3}, "the number of bindings is 4, 3 in"),
        (ConfigRecord, {"id": "c2"}, "the knobs of config c2 is .* None in the plan"),
        (ConfigRecord, {"knobs": {}}, "the knobs of config c1"),
        (CaseRecord, {"case": 9}, "case 9 is not in the plan"),
        (CaseRecord, {"function": "MPI_Bcast"}, "function of case 0 is MPI_Bcast, MPI_Allreduce"),
        (CaseRecord, {"variant": "library"}, "variant of case 0"),
        (CaseRecord, {"bytes": 16}, "bytes of case 0 is 16"),
        (CaseRecord, {"delay_ns": 5}, "delay_ns of case 0"),
        (CaseRecord, {"use": "loop"}, "use of case 0 is loop,  in the plan"),
        (Order, {"block": 2}, "block 2 after 0 of 2"),
        (Order, {"cases": [0, 0, 1, 3]}, "has a case twice"),
        (Order, {"cases": [0, 1, 2, 3]}, "one that is not to be timed"),
        (Samples, {"case": 2}, r"samples of case 2 in blocks \[0, 1\], not \[\]"),
        (Samples, {"blocks": [0, 2]}, "no samples of case 0 in block 1"),
        (Footer, {"cases": 3}, "the number of cases is 3, 4 in the plan"),
    ],
)  # fmt: skip
def test_a_record_that_differs(
    kind: type[ProbeRecord], changes: dict[str, Any], message: str
) -> None:
    refused(PLAN, changed(RECORDS, kind, lambda one: replace(one, **changes)), message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ns": [1] * 4}, "4 samples of case 0 in block 0 after 16 to warm up"),
        ({"ns": [1] * 2}, "the number of samples of case 0 in block 0 is 2, 3"),
        ({"warmup_ns": [1] * 17}, "after 17 to warm up"),
    ],
)
def test_a_block_that_differs(changes: dict[str, Any], message: str) -> None:
    refused(PLAN, with_first(RECORDS, **changes), message)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (ConfigRecord, "no config record of c1"),
        (CaseRecord, "no case record of 0"),
        (Check, "in whose order|not to be timed|no check"),
        (Samples, "no samples of case 0 in block 0"),
    ],
)
def test_a_record_that_is_missing(kind: type[ProbeRecord], message: str) -> None:
    refused(PLAN, changed(RECORDS, kind, lambda _: None), message)


def test_none_at_all() -> None:
    refused(PLAN, [RECORDS[0], Footer(4, 0, 0)], "no config record")
    refused(build.plan(RECORDS), [RECORDS[0], Footer(0, 0, 0)], "the number of cases is 0, 4")
    head = [one for one in RECORDS if not isinstance(one, Samples | Order)]
    with pytest.raises(UnplannedError, match="no samples of case 0 in block 0") as caught:
        judge(PLAN, head)
    assert caught.value.case == 0


def with_first(
    records: Sequence[ProbeRecord], case: int = 0, block: int = 0, **values: Any
) -> list[ProbeRecord]:
    """Return the records with other values in a block of a case."""
    return build.changed_blocks(
        records,
        lambda one: one._replace(**values) if (one.case, one.block) == (case, block) else one,
    )


def test_exchanged_cases() -> None:
    """What turned `holds` into `violated`."""
    numbers = {0: 3, 3: 0}

    def exchange(one: ProbeRecord) -> ProbeRecord:
        case = getattr(one, "case", None)
        return replace(one, case=numbers[case]) if case in numbers else one

    refused(PLAN, [exchange(one) for one in RECORDS], "bytes of case 3 is 16384, 128 in the plan")


def test_fewer_samples_where_repetitions_were_invalid() -> None:
    """By a start scheme that looks at them, and for each that is missing one."""
    plan = PLAN.replace("sync=barrier", "sync=window")
    windows = changed(RECORDS, Header, lambda one: replace(one, sync="window"))

    def samples(records: list[ProbeRecord], **values: object) -> list[ProbeRecord]:
        return with_first(records, **values)

    for why in ({"late": 2}, {"overrun": 1, "late": 2}, {"budget_spent": True}):
        judge(plan, samples(windows, ns=[1], warmup_ns=[], **why))
        refused(PLAN, samples(RECORDS, ns=[1], **why), "left out, which nothing checks")
    judge(plan, samples(windows, ns=[], late=3))
    refused(plan, samples(windows, ns=[], late=1), "the number of samples .* is 0, 2")
    refused(plan, samples(windows, ns=[1] * 4, late=1), "4 samples")
    refused(plan, samples(windows, ns=[1], late=2, overrun=2), "2 of 1 samples overran")


def test_samples_are_of_the_blocks_that_have_the_case() -> None:
    orders = [i for i, one in enumerate(RECORDS) if isinstance(one, Order)]
    without = changed(RECORDS, Order, lambda one: replace(one, cases=one.cases[:-1]), 1)
    refused(PLAN, without, r"samples of case \d in blocks \[0, 1\], not \[0\]")
    refused(
        PLAN,
        build.changed_blocks(RECORDS, lambda one: None if one.block else one),
        "no samples of case 0 in block 1",
    )
    turned = [*RECORDS]
    turned[orders[0]], turned[orders[1]] = RECORDS[orders[1]], RECORDS[orders[0]]
    refused(PLAN, turned, "block 1 after 0 of 2")


def test_times_that_there_was_no_time_for() -> None:
    """A nanosecond clock may be coarse; it is not slow."""
    judge(PLAN, RECORDS, seconds=0.01)
    nothing = build.changed_blocks(RECORDS, lambda one: one._replace(ns=[0] * 3))
    judge(PLAN, nothing, seconds=0.01)
    long = with_first(RECORDS, ns=[2**62] * 3)
    refused(PLAN, long, r"a time of 4611686018427387904 ns, longer than", seconds=60)
    refused(PLAN, long, "timed_ns is .*, and the times together 138350580")
    footer = RECORDS[-1]
    assert isinstance(footer, Footer)
    judge(PLAN, [*RECORDS[:-1], replace(footer, timed_ns=footer.timed_ns + 1)])
    less = replace(footer, timed_ns=footer.timed_ns - 1)
    refused(PLAN, [*RECORDS[:-1], less], "timed_ns is .*, and the times together")
    more = replace(footer, timed_ns=10**11)
    refused(PLAN, [*RECORDS[:-1], more], "timed_ns is 100000000000, longer than", seconds=60)
    # Without a barrier ranks are in several calls at once.
    free = changed([*RECORDS[:-1], more], Header, lambda one: replace(one, sync="none"))
    judge(PLAN.replace("sync=barrier", "sync=none"), free, seconds=60)


def test_streams_and_plain_loops_have_their_own_numbers() -> None:
    def of(samples: Samples, ns: int) -> Samples:
        return build.of_a_block(samples.case, 0, [], [5] * ns)

    records = build.records(build.run(), [Timed()], blocks=1, reps=100)
    case = next(one for one in records if isinstance(one, CaseRecord))
    stream = changed(records, CaseRecord, lambda one: replace(one, use="stream"))
    plan = build.plan(records).replace("reps=100", "reps=100 use=stream")
    judge(plan, changed(stream, Samples, lambda one: of(one, 1)))
    refused(plan, stream, f"100 samples of case {case.case}")
    plain = build.plan(records).replace(" sync=", " plain=each sync=")
    judge(plain, changed(records, Samples, lambda one: of(one, 4)))  # a rank each
    refused(plain, changed(records, Samples, lambda one: of(one, 5)), "5 samples")
    whole = build.plan(records).replace(" sync=", " use=stream sync=")
    judge(whole, changed(records, Samples, lambda one: of(one, 1)))


def test_what_settles_takes_more_calls_to_warm_up() -> None:
    """In the first block alone; on a simulated machine in all of them."""
    plan = PLAN.replace("warmup=16", "warmup=16 settle=40")
    more = with_first(RECORDS, warmup_ns=[1] * 40)
    judge(plan, more)
    late = with_first(RECORDS, block=1, warmup_ns=[1] * 40)
    refused(plan, late, "in block 1 after 40 to warm up")
    judge(PLAN.replace("warmup=16", "warmup=16 cycle=40"), late)


def test_a_transit() -> None:
    plan = PLAN.replace("warmup=16", "warmup=16 settle=40")
    *records, footer = RECORDS
    judge(plan, [*records, Transit(0, 1), footer])
    refused(PLAN, [*records, Transit(0, 1), footer], "a transit of case 0, which has none")
    refused(plan, [*records, Transit(2, 1), footer], "a transit of case 2")
    refused(plan, [*records, Transit(0, 2), footer], "case 0 has no 2 first blocks")


RULE = "nrep=rse:0.025 nrep_min=20 nrep_step=10 nrep_max=35"


def stopped(*numbers: int, said: int | None = None) -> list[ProbeRecord]:
    """Of a stopping rule: so many samples block by block."""
    header, *_ = build.records(build.run(), [], blocks=3)
    case = CaseRecord(0, "MPI_Bcast", "default", "default", 8, 8, "MPI_BYTE", "MPI_BOR", 0, reps=35)
    records: list[ProbeRecord] = [header, case, Check(0, "ok", "")]
    taken = []
    for block, number in enumerate(numbers):
        warmup = [1] * (1 if block else 16)
        records.append(Order(block, [0]))
        taken.append(build.of_a_block(0, block, warmup, [5] * number))
    records += build.together(taken)
    count = sum(numbers) if said is None else said
    rule = Nrep(0, count, "criteria", [Criterion("rse", 0.025, 0.02)])
    timed = sum(sum(one.warmup_ns) + sum(one.ns) for one in records if isinstance(one, Samples))
    return [*records, rule, Footer(1, timed, 2 * timed)]


def test_stopping_rules() -> None:
    plan = build.plan(stopped(20)).replace("blocks=3", RULE).replace(" reps=35", "")
    for numbers in ((20,), (20, 10), (20, 10, 5)):
        judge(plan, stopped(*numbers))
    refused(plan, stopped(20, 10, 10), "10 samples of case 0 in block 2 .* asks for 5")
    refused(plan, stopped(20, 10, said=20), "nrep of case 0, by its samples, is 20, 30")
    refused(plan, [one for one in stopped(20) if not isinstance(one, Nrep)], "no nrep record of 0")
    in_blocks = build.plan(stopped(35)).replace("blocks=3", "blocks=3 nrep=block_medians:0.1")
    for numbers in ((35,), (35, 35), (35, 35, 35)):
        judge(in_blocks, stopped(*numbers))
    refused(in_blocks, stopped(20), "samples of case 0 in block 0 is 20, 35 in the plan")
    refused(in_blocks, stopped(35, 35, 35, 35), "block 3")
    other = build.plan(stopped(20, 35, 35)).replace("nrep", "blocks")
    refused(other, stopped(20), "the number of samples|no stopping rule")


@pytest.mark.parametrize(
    ("record", "changes", "message"),
    [
        (EXTRA[0], {"bytes": 9}, "round trips of 9 B is 2, None"),
        (EXTRA[0], {"round_trip_ns": [1] * 3}, "round trips of 8 B is 3, 2"),
        (EXTRA[0], {"second": 4}, "rank 4, of 4"),
        (CELL, {"cell": 5}, "overlap cell 5 is not in the plan"),
        (CELL, {"bytes": 65, "sent": 65}, "bytes of overlap cell 4 is 65"),
        (CELL, {"requests": 2}, "requests of overlap cell 4"),
        (CELL, {"helper": True}, "helper of overlap cell 4"),
        (CELL, {"both_ns": [1]}, "times of overlap cell 4 is 1, 3"),
        (CELL, {"delivered": False}, "times of overlap cell 4 is 3, 0"),
        (CELL, {"sent": 3}, "has sent less"),
        (TRACE, {"triple": 1}, "events of overlap cell 4, triple 1"),
        (TRACE, {"cell": 9}, "events of overlap cell 9"),
        (TRACE, {"end_ns": []}, "the number of events"),
    ],
)  # fmt: skip
def test_round_trips_and_overlap_cells(
    record: ProbeRecord, changes: dict[str, Any], message: str
) -> None:
    refused(PLAN + MORE, [*RECORDS[:-1], replace(record, **changes), END], message)


def test_what_was_not_timed_is_not_refused() -> None:
    refused(PLAN, [*RECORDS[:-1], Refused(2, "too short"), RECORDS[-1]], "case 2 is refused")
    refused(PLAN + MORE, RECORDS, "no overlap record of 4")


def by_rank(*ranks: RankSamples) -> list[ProbeRecord]:
    """A launch of one case that asks for the times of its three ranks."""
    launch = build.records(build.run(), [Timed()], blocks=1, reps=2)
    (case,) = [record for record in launch if isinstance(record, CaseRecord)]
    asked = replace(case, by_rank=1, ranks=3)
    found = [asked if record is case else record for record in launch]
    (place,) = [number for number, record in enumerate(found) if isinstance(record, Samples)]
    return [*found[: place + 1], *ranks, *found[place + 1 :]]


def test_times_of_ranks_are_as_many_as_the_samples() -> None:
    good = by_rank(RankSamples(0, 0, [[1, 2]] * 3))
    plan = build.plan(good)
    assert "by_rank=1" in plan
    judge(plan, good)
    refused(plan, by_rank(), "no ranks' times of case 0 in block 0")
    for times, message in (
        ([[1, 2]] * 4, "the number of ranks of case 0 in block 0 is 4, 3"),
        ([[1, 2], [1, 2], [1]], "the number of times of a rank in case 0 in block 0 is 1, 2"),
    ):
        refused(plan, by_rank(RankSamples(0, 0, times)), message)
    once = RankSamples(0, 0, [[1, 2]] * 3)
    refused(plan, by_rank(RankSamples(0, 0, [[1]] * 3)), "a rank in case 0 in block 0 is 1, 2")
    refused(plan, by_rank(once, once), "no ranks' times of case 0 in block 0")
    refused(plan, by_rank(RankSamples(0, 1, [[1, 2]] * 3)), "in block 1, which was not timed")
    refused(plan, by_rank(RankSamples(0, 0, [[1, 2]] * 2 + [[1, 10**12]])), "longer than", 1.0)
    silent = replace(by_rank()[1], by_rank=0)
    quiet = build.plan([good[0], silent, *good[2:]])
    refused(quiet, [good[0], silent, *good[2:]], "which did not ask for them")
