"""Launches and what they measured. One launch is stored in one transaction, whole or not at all."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from plumbline_db import campaigns, columns, cost, launch_records
from plumbline_db.blobs import records_blob, text, text_blob
from plumbline_db.probe_records import Check, Footer, Header, Load, ProbeRecord, Refused, Samples
from plumbline_db.records import AFTERWARDS, Case, Failure, Medians, Run, Suite, Wrong
from plumbline_db.statements import Statements

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

from plumbline_db.records import BESIDE


def suite_number(db: Statements, campaign: str, suite: Suite) -> int:
    """Return the number of its row, which is made where there is none, inside the caller's
    transaction. Raises ValueError where another suite has its name."""
    key = {"campaign": campaign, "name": suite.name}
    columns.put(db, "suite", suite, "ON CONFLICT DO NOTHING", **key)
    where = "WHERE campaign = :campaign AND name = :name"
    ((number, stored_suite),) = columns.numbered(db, "suite", Suite, where, key)
    if stored_suite != suite:
        raise ValueError(f"suite {suite.name} of campaign {campaign} is another one")
    return number


def suites(db: Statements, campaign: str) -> dict[str, Suite]:
    """Return those of a campaign by name, in the order in which they were begun."""
    where = "WHERE campaign = :campaign ORDER BY number"
    stored_suites = columns.all_of(db, "suite", Suite, where, {"campaign": campaign})
    return {suite.name: suite for suite in stored_suites}


def in_turn(db: Statements, campaign: str, name: str) -> list[tuple[str, str]]:
    """Names of the suites of the same stage and round as `name` that took turns with the library as
    it is, each with that of the latter."""
    every = suites(db, campaign)
    of = every[name]
    pairs = [
        (msgspec.structs.replace(suite, arm="").name, suite.name)
        for suite in every.values()
        if suite.arm == BESIDE
        and (suite.stage, suite.round, suite.parted) == (of.stage, of.round, of.parted)
    ]
    return [(own_name, beside) for own_name, beside in pairs if own_name in every]


# The columns of a planned case for `columns.read`, and the tables that contain them.
_CASE = """p.function, p.variant, c.knobs, p.config, p.bytes, p.type, p.op, p.root, p.delay_ns,
           p.ranks, p.use, p.counts"""
_OF_CASES = """FROM cell_time m JOIN planned_case p ON p.number = m.planned_case
               JOIN configuration c ON c.number = p.configuration
               JOIN run ON run.number = m.run JOIN suite ON suite.number = run.suite"""

_OF_SUITES = "AND (:suites IS NULL OR suite.name IN (SELECT value FROM json_each(:suites))) "
_SELECT = """SELECT run.id, suite.campaign, suite.name, run.sequence, run.failure, run.reason,
                    run.failed_case, run.under_way, run.argv, run.environment, run.plan, run.stderr,
                    run.started, run.seconds, run.timed_seconds, run.member, run.visit
             FROM run JOIN suite ON suite.number = run.suite WHERE suite.campaign = :campaign """


def put(
    db: Statements, run: Run, records: Sequence[ProbeRecord], suite: Suite | None = None
) -> None:
    """Store a launch of `suite` (None: a stage of that name) with its records. A launch that is
    there already (campaign, suite, sequence) is left as it is; another plan under the same key, or
    another launch with the same id, is a bug: ValueError."""
    with db.transaction():
        campaigns.require(db, run.campaign)
        stored = get(db, run.campaign, run.suite, run.sequence)
        if stored is not None:
            if stored.plan != run.plan:
                raise ValueError(
                    f"launch {run.sequence} of suite {run.suite} of campaign {run.campaign} "
                    "is stored with another plan"
                )
            return
        if db.row("SELECT 1 FROM run WHERE id = :id", {"id": run.id}):
            raise ValueError(f"run id {run.id} belongs to another launch")
        number = _insert(db, run, records, suite or Suite(run.suite))
        launch_records.put_cell_times(db, number, records)
        cost.add(db, number)


def part(db: Statements, campaign: str, *, kept: Collection[str]) -> list[str]:
    """Gives the launches of a campaign whose ids are not `kept` to suites of other names, so that
    they can be asked for again. What was measured for people afterwards stays as it is. Returns the
    ids that they had."""
    with db.transaction():
        suite_by_name = suites(db, campaign)
        time = 1 + max((suite.parted for suite in suite_by_name.values()), default=0)
        unmoved_suites = {
            suite.name
            for suite in suite_by_name.values()
            if suite.parted or suite.stage in AFTERWARDS
        }
        every = listing(db, campaign)
        moved_runs = [
            run for run in every if run.id not in kept and run.suite not in unmoved_suites
        ]
        for run in moved_runs:
            suite = msgspec.structs.replace(suite_by_name[run.suite], parted=time)
            db.rows(
                "UPDATE run SET id = :new, suite = :suite WHERE id = :id",
                {
                    "new": run_id(campaign, suite.name, run.sequence),
                    "suite": suite_number(db, campaign, suite),
                    "id": run.id,
                },
            )
    return [run.id for run in moved_runs]


def run_id(campaign: str, suite: str, sequence: int) -> str:
    return f"{campaign}/{suite}-{sequence:03d}"


def _insert(db: Statements, run: Run, records: Sequence[ProbeRecord], suite: Suite) -> int:
    """The row of the launch and of its suite; returns the launch number."""
    if suite.name != run.suite:
        raise ValueError(f"launch {run.id} is of suite {run.suite}, not of {suite.name}")
    failure = run.failure
    values = columns.values(run, "campaign") | {
        "suite": suite_number(db, run.campaign, suite),
        "failure": None if failure is None else failure.kind,
        "reason": "" if failure is None else failure.how,
        "failed_case": None if failure is None else failure.case,
        "under_way": "" if failure is None else failure.under_way,
        "plan": text_blob(run.plan),
        "header": None,
        "load": None,
        "footer": None,
        "records": records_blob(records),
    }
    for record in records:
        if isinstance(record, Header):
            values["header"] = text_blob(_json(record))
        elif isinstance(record, Load) and record.hosts:
            values["load"] = _json(record)
        elif isinstance(record, Footer):
            values["footer"] = _json(record)
    return int(columns.put_row(db, "run", values, "RETURNING number"))


def get(db: Statements, campaign: str, suite: str, sequence: int) -> Run | None:
    run_row = db.row(
        _SELECT + "AND suite.name = :suite AND run.sequence = :sequence",
        {"campaign": campaign, "suite": suite, "sequence": sequence},
    )
    return None if run_row is None else _record(run_row)


def listing(db: Statements, campaign: str, suites: Sequence[str] | None = None) -> list[Run]:
    """Return the launches of a campaign, or of some of its suites, in the order in which they were
    stored."""
    run_rows = db.rows(
        _SELECT + _OF_SUITES + "ORDER BY run.number",
        {"campaign": campaign, "suites": None if suites is None else _json(sorted(suites))},
    )
    return [_record(row) for row in run_rows]


def one_by_one(db: Statements, campaign: str) -> Iterator[Run]:
    """All of `listing`, without more than one in memory."""
    numbers = db.rows(
        """SELECT run.number FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign ORDER BY run.number""",
        {"campaign": campaign},
    )
    for (number,) in numbers:
        row = db.row(_SELECT + "AND run.number = :number", {"campaign": campaign, "number": number})
        if row is not None:
            yield _record(row)


def names(db: Statements, numbers: Collection[int]) -> dict[int, str]:
    """Ids of launches by their numbers in the database."""
    return dict(
        db.rows(
            "SELECT number, id FROM run WHERE number IN (SELECT value FROM json_each(:numbers))",
            {"numbers": _json(sorted(numbers))},
        )
    )


def header(db: Statements, run_id: str) -> Header | None:
    """Return what the probe said about itself and its surroundings; None when it did not get that
    far."""
    row = db.row("SELECT header FROM run WHERE id = :id", {"id": run_id})
    if row is None or row[0] is None:
        return None
    return _header(row[0])


def last(db: Statements, campaign: str) -> int:
    """The number of the launch of a campaign that was stored last; 0: there is none."""
    ((number,),) = db.rows(
        """SELECT coalesce(max(run.number), 0) FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign""",
        {"campaign": campaign},
    )
    return int(number)


def span(db: Statements, campaign: str) -> tuple[str, str] | None:
    """Return when the first finished launch of a campaign started and the last one ended (ISO
    8601)."""
    span_row = db.row(
        """SELECT min(run.started), strftime('%Y-%m-%dT%H:%M:%S+00:00',
                  max(julianday(run.started) + run.seconds / 86400))
           FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign AND run.failure IS NULL""",
        {"campaign": campaign},
    )
    return None if span_row is None or span_row[0] is None else (span_row[0], span_row[1])


def first_header(
    db: Statements, campaign: str, suite: str | None = None
) -> tuple[str, Header] | None:
    """Id and header of the first finished launch of a campaign, or of a suite of it."""
    row = db.row(
        """SELECT run.id, run.header FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign AND (:suite IS NULL OR suite.name = :suite)
             AND run.failure IS NULL AND run.header IS NOT NULL
           ORDER BY run.number LIMIT 1""",
        {"campaign": campaign, "suite": suite},
    )
    return None if row is None else (row[0], _header(row[1]))


def checks(db: Statements, campaign: str, suite: str, sequence: int) -> list[tuple[Case, Check]]:
    """The check of each case of a launch, in order of case id; cases without one are left out."""
    check_rows = db.rows(
        f"""SELECT {_CASE}, m.case_id, m.outcome, m.detail {_OF_CASES}
            WHERE suite.campaign = :campaign AND suite.name = :suite AND run.sequence = :sequence
              AND m.outcome IS NOT NULL
            ORDER BY m.case_id""",
        {"campaign": campaign, "suite": suite, "sequence": sequence},
    )
    return [(columns.read(Case, row[:-3]), Check(*row[-3:])) for row in check_rows]


def refusals(db: Statements, campaign: str, suites: Sequence[str]) -> list[tuple[Case, Refused]]:
    """Cases of finished launches whose samples are not results, in the order of the launches."""
    refused_rows = db.rows(
        f"""SELECT suite.name, {_CASE}, m.case_id, m.refused {_OF_CASES}
            WHERE suite.campaign = :campaign AND run.failure IS NULL AND m.refused IS NOT NULL
            ORDER BY m.run, m.case_id""",
        {"campaign": campaign},
    )
    return [
        (columns.read(Case, case), Refused(number, reason))
        for suite, *case, number, reason in refused_rows
        if suite in suites
    ]


def wrong(db: Statements, campaign: str) -> list[Wrong]:
    """Return what gave wrong results in a campaign, in the order in which it was found out."""
    wrong_rows = db.rows(
        f"""SELECT p.function, p.variant, c.knobs, p.bytes, p.type, p.op, count(DISTINCT m.run),
                   m.detail, min(m.run) AS launch, min(m.case_id) AS place
            {_OF_CASES}
            WHERE suite.campaign = :campaign AND m.outcome = 'wrong'
            GROUP BY p.function, p.variant, c.number, p.bytes, p.type, p.op
            ORDER BY launch, place""",
        {"campaign": campaign},
    )
    return [columns.read(Wrong, row[:-2]) for row in wrong_rows]


def samples(db: Statements, run_id: str, case_id: int) -> list[Samples]:
    """Return the raw samples of one case of a launch: one record, or none."""
    row = db.row("SELECT number FROM run WHERE id = :run", {"run": run_id})
    sample_records = [] if row is None else launch_records.of_kind(db, [row[0]], Samples)[row[0]]
    return [record for record in sample_records if record.case == case_id]


def by_case(
    db: Statements, campaign: str, suite: str, sequence: int
) -> dict[int, list[NDArray[np.int64]]]:
    """Return the samples of each case of a launch in nanoseconds, one array a block, without
    warm-up, by case number: where one plan holds the same case twice, or the same case with planted
    delays, `medians` would pool what this tells apart. Those of a transit too, so that blocks pair.
    Only of cases whose check is ok; none where the launch has not finished."""
    import numpy as np

    rows = db.rows(
        """SELECT m.run, m.case_id
           FROM suite JOIN run ON run.suite = suite.number JOIN cell_time m ON m.run = run.number
           WHERE suite.campaign = :campaign AND suite.name = :suite AND run.sequence = :sequence
             AND run.failure IS NULL AND m.outcome = 'ok'""",
        {"campaign": campaign, "suite": suite, "sequence": sequence},
    )
    cases = {case for _, case in rows}
    samples_by_run = launch_records.of_kind(db, {run for run, _ in rows}, Samples)
    return {
        record.case: [np.array(ns, "<i8") for ns in record.by_block() if ns]
        for records in samples_by_run.values()
        for record in records
        if record.case in cases and record.ns
    }


class LaunchSamples(NamedTuple):
    """All samples of one case (warm-up apart, blocks in their order) in each launch: `ns[i]` are
    those of the launch numbered `runs[i]`, in nanoseconds. The number is unique in the database, so
    that it pairs the two sides of a comparison. `counts[i]`: what was counted there, for a call."""

    case: Case
    runs: list[int]
    ns: list[NDArray[np.int64]]
    counts: Sequence[Mapping[str, float]] = ()


OWN_USE = ""  # cases measured in the way of use that their plan is about


def launch_samples(
    db: Statements,
    campaign: str,
    suites: Sequence[str],
    use: str | None = OWN_USE,
    sizes: Collection[int] | None = None,
    functions: Collection[str] | None = None,
) -> list[LaunchSamples]:
    """The samples of each case in each finished launch, of one way of use (None: of all), at some
    sizes in bytes (None: at all), of some functions (None: of all).

    Only cases whose check is ok and whose samples were not refused, and of these only blocks that
    are of no transit. Launches are in order of
    `suites`, then of sequence; cases in order of first appearance."""
    import numpy as np

    timed = _timed(db, campaign, suites, use, sizes, functions)
    cases_by_launch: dict[int, set[int]] = {}
    for launches in timed.values():
        for number, timed_cases in launches.items():
            cases_by_launch.setdefault(number, set()).update(case for case, _, _ in timed_cases)
    kept = launch_records.samples(db, cases_by_launch)
    return [
        LaunchSamples(
            case,
            list(launches),
            [
                np.array(
                    [
                        ns
                        for case_id, first, _ in those
                        for ns in kept[number, case_id].from_block(first)
                    ],
                    "<i8",
                )
                for number, those in launches.items()
            ],
            [kept[number, series[0][0]].counts_of_call() for number, series in launches.items()],
        )
        for case, launches in _by_case(timed)
    ]


# A case in a launch: its number there, its first block after the transit, and the median in ns.
_Found = tuple[int, int, float]
_Timed = dict[tuple[Any, ...], dict[int, list[_Found]]]


def _timed(
    db: Statements,
    campaign: str,
    suites: Sequence[str],
    use: str | None,
    sizes: Collection[int] | None,
    functions: Collection[str] | None = None,
) -> _Timed:
    """Return what counts, by case and launch; of several where a plan names a case twice."""
    timed: _Timed = {}
    for suite in dict.fromkeys(suites):
        for number, case_id, first, median, *key in db.rows(
            f"""SELECT run.number, m.case_id, m.transit, m.median_ns, {_CASE} {_OF_CASES}
                WHERE suite.campaign = :campaign AND suite.name = :suite
                  AND run.failure IS NULL AND m.outcome = 'ok' AND m.refused IS NULL
                  AND m.n IS NOT NULL
                  AND (:use IS NULL OR p.use = :use)
                  AND (:sizes IS NULL OR p.bytes IN (SELECT value FROM json_each(:sizes)))
                  AND (:functions IS NULL
                       OR p.function IN (SELECT value FROM json_each(:functions)))
                ORDER BY run.sequence, m.case_id""",  # noqa: S608
            {
                "campaign": campaign,
                "suite": suite,
                "use": use,
                "sizes": None if sizes is None else _json(sorted(sizes)),
                "functions": None if functions is None else _json(sorted(functions)),
            },
        ):
            launches = timed.setdefault(tuple(key), {})
            launches.setdefault(number, []).append((case_id, first, median))
    return timed


def _by_case(timed: _Timed) -> list[tuple[Case, dict[int, list[_Found]]]]:
    return [(columns.read(Case, case), launches) for case, launches in timed.items()]


def medians(
    db: Statements,
    campaign: str,
    suites: Sequence[str],
    use: str | None = OWN_USE,
    sizes: Collection[int] | None = None,
    functions: Collection[str] | None = None,
) -> list[Medians]:
    """Median of all samples (warm-up apart) of each case in each finished launch, in seconds; which
    cases and in which order: `launch_samples`. Of a case that a plan names twice that of both
    medians, where the samples were thrown away. Other averages: plumbline.results.compare.
    """
    timed = _timed(db, campaign, suites, use, sizes, functions)
    if any(
        len(timed_cases) > 1 for launches in timed.values() for timed_cases in launches.values()
    ):
        try:
            samples_found = launch_samples(db, campaign, suites, use, sizes, functions)
        except launch_records.PrunedError:
            pass
        else:
            return [medians_of(sample) for sample in samples_found]
    return [
        Medians(
            case,
            list(launches),
            [
                1e-9 * statistics.median(median for _, _, median in timed_cases)
                for timed_cases in launches.values()
            ],
        )
        for case, launches in _by_case(timed)
    ]


def medians_of(samples_of_case: LaunchSamples) -> Medians:
    seconds = [1e-9 * statistics.median(ns.tolist()) for ns in samples_of_case.ns]
    return Medians(samples_of_case.case, samples_of_case.runs, seconds)


class Surroundings(NamedTuple):
    """The surroundings of a finished launch, as the probe has described them; `wall_seconds` from
    header to footer, which `load` covers. `started` (ISO 8601) and `seconds` are of the whole
    launch."""

    number: int
    run: str
    suite: str
    header: Header
    load: Load | None
    wall_seconds: float
    started: str
    seconds: float
    member: str = ""


def load(db: Statements, run_id: str) -> tuple[Load, float] | None:
    """Return the load record of a finished launch, and the seconds that it covers; None where the
    launch has none."""
    load_row = db.row(
        """SELECT load, footer FROM run
           WHERE id = :id AND failure IS NULL AND load IS NOT NULL AND footer IS NOT NULL""",
        {"id": run_id},
    )
    if load_row is None:
        return None
    record = msgspec.json.decode(load_row[0], type=Load)
    return record, msgspec.json.decode(load_row[1], type=Footer).wall_ns / 1e9


def trips(db: Statements, run_ids: Collection[str]) -> dict[int, list[int]]:
    """Return the round trips between two ranks, in ns, of the launches that have any, by their
    numbers."""
    rows = db.rows(
        """SELECT number, load FROM run
           WHERE id IN (SELECT value FROM json_each(:ids)) AND load IS NOT NULL""",
        {"ids": _json(sorted(run_ids))},
    )
    loads = {number: msgspec.json.decode(load, type=Load) for number, load in rows}
    return {number: load.trips_ns for number, load in loads.items() if load.trips_ns}


def surroundings(
    db: Statements, campaign: str, suites: Sequence[str] | None = None
) -> list[Surroundings]:
    """Return those of the finished launches of a campaign, or of some of its suites, as they were
    stored."""
    launch_rows = db.rows(
        f"""SELECT run.number, run.id, suite.name, run.header, run.load, run.footer, run.started,
                   run.seconds, run.member
           FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign AND run.failure IS NULL
             AND run.header IS NOT NULL AND run.footer IS NOT NULL
             {_OF_SUITES} ORDER BY run.number""",  # noqa: S608
        {"campaign": campaign, "suites": None if suites is None else _json(sorted(suites))},
    )
    return [
        Surroundings(
            number,
            run,
            suite,
            _header(stored),
            None if load is None else msgspec.json.decode(load, type=Load),
            msgspec.json.decode(footer, type=Footer).wall_ns / 1e9,
            started,
            seconds,
            member,
        )
        for number, run, suite, stored, load, footer, started, seconds, member in launch_rows
    ]


def _header(stored: bytes) -> Header:
    return msgspec.json.decode(text(stored), type=Header)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _record(row: tuple[Any, ...]) -> Run:
    id, campaign, suite, sequence, kind, how, case, under_way, argv, environment, plan, *rest = row
    failure = None if kind is None else Failure(kind, how, case, under_way)
    argv = msgspec.json.decode(argv, type=list[str])
    environment = msgspec.json.decode(environment, type=dict[str, str])
    return Run(id, campaign, suite, sequence, failure, argv, environment, text(plan), *rest)
