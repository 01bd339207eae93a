"""The sides of a comparison: names that people type, and the launches that they stand for. Reads
the database; computes nothing.

A name is [FILE#]RUN[:STAGE | /SUITE][@VARIANT]. STAGE is a violation table of a campaign (before,
after, round-1 …), for the launches which that table rests on; the default is before. Of a run of
`plumbline suite` SUITE is what its file calls it, in all looks; the default is all its suites."""

from __future__ import annotations

import statistics
from collections.abc import Container, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from plumbline.measure import factors
from plumbline.measure.conditions import FOREIGN_PROCESSORS, STOLEN_PROCESSORS, foreign
from plumbline_db import campaigns, findings, machines, points, runs, table_samples
from plumbline_db import runs as stored_suites
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError, command_name
from plumbline_db.points import stored_suite
from plumbline_db.records import Campaign, Library, Machine, Suite, Verdict
from plumbline_db.runs import LaunchSamples, Surroundings

# The time at which the launches of a side ran, and what else ran on the machine then: what sides
# that were not measured together differ in besides what is compared. Pure.


class SideConditions(msgspec.Struct, frozen=True):
    """`first`: when the first launch began, `last`: when the last one ended (ISO 8601, to the
    second). Of the `launches_with_load` launches with a load record, medians: how many processors
    other programs, and the hypervisor, kept busy on the host where they had most; None: unknown."""

    first: str
    last: str
    launches_with_load: int
    other_processors: float | None
    stolen_processors: float | None


def of_side(launches: Sequence[Surroundings]) -> SideConditions:
    """`launches`: at least one."""
    begins = [datetime.fromisoformat(launch.started) for launch in launches]
    ends = [
        begin + timedelta(seconds=launch.seconds)
        for begin, launch in zip(begins, launches, strict=True)
    ]
    loads = [
        foreign(launch.load, launch.wall_seconds)
        for launch in launches
        if launch.load is not None and launch.wall_seconds > 0
    ]
    busy = [
        load.busy_seconds / load.wall_seconds for load in loads if load.busy_seconds is not None
    ]
    stolen = [
        load.stolen_seconds / load.wall_seconds for load in loads if load.stolen_seconds is not None
    ]
    return SideConditions(
        first=min(begins).isoformat(timespec="seconds"),
        last=max(ends).isoformat(timespec="seconds"),
        launches_with_load=len(loads),
        other_processors=statistics.median(busy) if busy else None,
        stolen_processors=statistics.median(stolen) if stolen else None,
    )


def load_differences(a: SideConditions, b: SideConditions) -> list[str]:
    """Return where the load of the sides lies apart by more than a single launch would be warned
    of."""
    apart = []
    for load, load_of_a, load_of_b, limit in (
        ("other work", a.other_processors, b.other_processors, FOREIGN_PROCESSORS),
        ("stolen time", a.stolen_processors, b.stolen_processors, STOLEN_PROCESSORS),
    ):
        if load_of_a is not None and load_of_b is not None and abs(load_of_a - load_of_b) > limit:
            apart.append(f"{load}: A {load_of_a:.2f}, B {load_of_b:.2f} processors")
    return apart


SYNTAX = "[FILE#]RUN[:STAGE | /SUITE][@VARIANT]"
DEFAULT_STAGE = "before"


class Name(msgspec.Struct, frozen=True):
    """`file` is None where the command's database is meant. One of `stage` and `suite` is empty.
    `variant` is empty where cells are matched by their variants."""

    text: str
    file: Path | None
    campaign: str
    stage: str
    suite: str
    variant: str


class ComparedSide(msgspec.Struct, frozen=True):
    """A side that a name stands for. `launches` are finished ones, and may be joined. `described`:
    they are of a file's suites, whose operations are all asked for."""

    name: Name
    database: Path
    campaign: Campaign
    machine: Machine
    library: Library
    suites: list[str]
    launches: list[Surroundings]
    samples: list[LaunchSamples]
    described: bool = False

    @property
    def suites_named(self) -> list[str]:
        """The suites as people name them: of a described one once, whatever its looks."""
        if self.described:
            prefix = stored_suite("").name + "-"
            return [name.removeprefix(prefix) for name in self.suites if "-look-" not in name]
        return self.suites

    def only(self, functions: Sequence[str] | None, sizes: Sequence[int] | None) -> ComparedSide:
        """The samples of some functions at some sizes; None: of all."""
        kept = [
            sample
            for sample in self.samples
            if (functions is None or sample.case.function in functions)
            and (sizes is None or sample.case.bytes in sizes)
        ]
        return msgspec.structs.replace(self, samples=kept)


def parse(text: str) -> Name:
    """Raises UsageError that shows the syntax."""
    file, hash_, rest = text.rpartition("#")
    rest, at, variant = rest.partition("@")
    campaign, slash, suite = rest.partition("/")
    stage = ""
    if not slash:
        campaign, colon, stage = rest.partition(":")
        stage = stage if colon else DEFAULT_STAGE
    empty = (hash_ and not file) or (at and not variant) or (slash and not suite)
    if empty or not campaign or not (stage or suite):
        raise UsageError(f"{text!r} names no launches; the form is {SYNTAX}")
    return Name(text, Path(file) if hash_ else None, campaign, stage, suite, variant)


def read(db: Database, name: Name) -> ComparedSide:
    """Raises UsageError that lists what there is, when run, stage, suite or variant is not;
    PlumblineError when its launches may not be joined into one sample."""
    described = {campaign.id: campaign for campaign in campaigns.of_suites(db)}
    campaign_by_id = {campaign.id: campaign for campaign in campaigns.all_campaigns(db)} | described
    name = _settled(name, campaign_by_id)
    if name.campaign not in campaign_by_id:
        if name.campaign in {campaign.id for campaign in campaigns.foreign(db)}:
            raise UsageError(
                f"{name.campaign} was imported from another program's output, without samples, so "
                f"it cannot be compared; `{command_name()} serve` shows its curves"
            )
        listed = ", ".join(campaign_by_id) or "none"
        raise UsageError(f"{db.path} contains no run {name.campaign}; it contains: {listed}")
    campaign = campaign_by_id[name.campaign]
    is_described = campaign.id in described
    if is_described:
        name = _as_described(db, name)
    table = [] if is_described else _table(db, name)
    suites = table_samples.suites(table) if table else _suites(db, name, described=is_described)
    samples = (
        table_samples.samples(db, campaign.id, table)
        if table
        else runs.launch_samples(db, campaign.id, suites)
    )
    return _side(db, name, campaign, suites, samples, described=is_described)


def _settled(name: Name, stored_runs: Container[str]) -> Name:
    """Separate the run from the stage: the name of an imported run has a colon too."""
    whole = f"{name.campaign}:{name.stage}"
    if name.suite or name.campaign in stored_runs:
        return name
    if whole in stored_runs:
        return msgspec.structs.replace(name, campaign=whole, stage=DEFAULT_STAGE)
    campaign, _, stage = whole.rpartition(":")
    if campaign in stored_runs:
        return msgspec.structs.replace(name, campaign=campaign, stage=stage)
    return name


def _as_described(db: Database, name: Name) -> Name:
    """Name a suite as its file does, also where the name is that of its launches."""
    suite = stored_suites.suites(db, name.campaign).get(name.suite)
    if suite is None:
        return name
    text = name.text.replace(f"/{name.suite}", f"/{suite.step}", 1)
    return msgspec.structs.replace(name, text=text, suite=suite.step)


def of_suites(db: Database, text: str, campaign: Campaign, suites: list[str]) -> ComparedSide:
    """All launches of these suites; `text`: how people name the side. Raises as `read` does."""
    samples = runs.launch_samples(db, campaign.id, suites)
    name = Name(text, None, campaign.id, "", suites[0], "")
    return _side(db, name, campaign, suites, samples)


def _side(
    db: Database,
    name: Name,
    campaign: Campaign,
    suites: list[str],
    samples: list[LaunchSamples],
    *,
    described: bool = False,
) -> ComparedSide:
    if name.variant:
        variants = sorted({sample.case.variant for sample in samples})
        samples = [sample for sample in samples if sample.case.variant == name.variant]
        if not samples:
            raise UsageError(
                f"{name.text} has no variant {name.variant}; its variants are: "
                f"{', '.join(variants)}"
            )
    if not samples:
        raise UsageError(f"{name.text}: its launches have no times (did they all fail?)")
    launches = runs.surroundings(db, campaign.id, suites)
    factors.require_joinable(
        factors.named(launches), otherwise="Name launches that belong together (RUN/SUITE)"
    )
    return ComparedSide(
        name=name,
        database=db.path,
        campaign=campaign,
        machine=machines.machine(db, campaign.machine),
        library=machines.library(db, campaign.library_fingerprint),
        suites=suites,
        launches=launches,
        samples=samples,
        described=described,
    )


def all_looks(suites_by_name: dict[str, Suite], name: str) -> list[str]:
    """The names of all looks at a suite."""
    first = suites_by_name[name].at(1)
    return [suite_name for suite_name, suite in suites_by_name.items() if suite.at(1) == first]


def offered(db: Database, run: str) -> list[str]:
    """The sides that a run has: its tables, or its described suites."""
    tables = [f"{run}:{stage}" for stage in findings.stages(db, run)]
    suites = stored_suites.suites(db, run)
    return tables or [f"{run}/{suites[name].step}" for name in dict.fromkeys(_asked(db, run))]


def _asked(db: Database, run: str) -> list[str]:
    """The first looks at suites that a file describes."""
    return [point.suite for point in points.get(db, run) if point.look == 1]


def _suites(db: Database, name: Name, *, described: bool) -> list[str]:
    """The names of what is meant: one suite, of a described one all looks, or all of a run."""
    suites_by_name = {
        suite: known_suite
        for suite, known_suite in stored_suites.suites(db, name.campaign).items()
        if suite in {run.suite for run in runs.listing(db, name.campaign)}
    }
    if described and not name.suite:
        if name.stage != DEFAULT_STAGE:
            raise UsageError(
                f"{name.campaign} is a run of suites, which has no tables; it has: "
                f"{', '.join(offered(db, name.campaign))}"
            )
        return list(suites_by_name)
    by_step = {
        suite.step: suite_name for suite_name, suite in suites_by_name.items() if suite.look == 1
    }
    suite_asked = by_step.get(name.suite, name.suite) if described else name.suite
    if suite_asked not in suites_by_name:
        listed = ", ".join(by_step if described else suites_by_name) or "none"
        raise UsageError(f"run {name.campaign} has no suite {name.suite}; it has: {listed}")
    return (
        all_looks(suites_by_name, suite_asked)
        if suite_asked in _asked(db, name.campaign)
        else [suite_asked]
    )


def _table(db: Database, name: Name) -> list[Verdict]:
    """Empty for the name of a suite."""
    if name.suite:
        return []
    stages = findings.stages(db, name.campaign)
    if name.stage not in stages:
        listed = ", ".join(stages) or "none yet"
        raise UsageError(
            f"run {name.campaign} has no table {name.stage}; it has: {listed}. Single suites "
            f"are named {name.campaign}/SUITE"
        )
    return findings.get_verdicts(db, name.campaign, name.stage)
