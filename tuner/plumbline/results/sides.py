"""The sides of a comparison: names that people type, and the launches that they stand for. Reads
the database; computes nothing.

A name is [FILE#]CAMPAIGN[:STAGE | /SUITE][@VARIANT]. STAGE is a violation table of the campaign
(before, after, round-1 …), for the launches which that table rests on; the default is before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline.measure import factors
from plumbline_db import campaigns, machines, runs, table_samples, verdicts
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import Campaign, Library, Machine, Verdict
from plumbline_db.runs import LaunchSamples, Surroundings

SYNTAX = "[FILE#]CAMPAIGN[:STAGE | /SUITE][@VARIANT]"
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


class Side(msgspec.Struct, frozen=True):
    """What a name stands for. `launches` are finished ones, and may be joined."""

    name: Name
    database: Path
    campaign: Campaign
    machine: Machine
    library: Library
    suites: list[str]
    launches: list[Surroundings]
    samples: list[LaunchSamples]

    def only(self, functions: Sequence[str] | None, sizes: Sequence[int] | None) -> Side:
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


def read(db: Database, name: Name) -> Side:
    """Raises UsageError that lists what there is, when campaign, stage, suite or variant is not;
    PlumblineError when its launches may not be joined into one sample."""
    known = {campaign.id: campaign for campaign in campaigns.all_campaigns(db)}
    if name.campaign not in known:
        listed = ", ".join(known) or "none"
        raise UsageError(f"{db.path} holds no campaign {name.campaign}; it holds: {listed}")
    campaign = known[name.campaign]
    table = _table(db, name)
    suites = table_samples.suites(table) if table else [_suite(db, name)]
    launches = runs.surroundings(db, campaign.id, suites)
    samples = (
        table_samples.samples(db, campaign.id, table)
        if table
        else runs.launch_samples(db, campaign.id, suites)
    )
    return _side(db, name, campaign, suites, launches, samples)


def of_suites(db: Database, text: str, campaign: Campaign, suites: list[str]) -> Side:
    """All launches of these suites; `text`: how people name the side. Raises as `read` does."""
    launches = runs.surroundings(db, campaign.id, suites)
    samples = runs.launch_samples(db, campaign.id, suites)
    name = Name(text, None, campaign.id, "", suites[0], "")
    return _side(db, name, campaign, suites, launches, samples)


def _side(
    db: Database,
    name: Name,
    campaign: Campaign,
    suites: list[str],
    launches: list[Surroundings],
    samples: list[LaunchSamples],
) -> Side:
    if name.variant:
        variants = sorted({sample.case.variant for sample in samples})
        samples = [sample for sample in samples if sample.case.variant == name.variant]
        if not samples:
            raise UsageError(
                f"{name.text}: no case of variant {name.variant}; there are: {', '.join(variants)}"
            )
    if not samples:
        raise UsageError(f"{name.text}: its launches have no times (did they all fail?)")
    factors.require_joinable(
        factors.named(launches), otherwise="Name launches that belong together (CAMPAIGN/SUITE)"
    )
    return Side(
        name=name,
        database=db.path,
        campaign=campaign,
        machine=machines.machine(db, campaign.machine),
        library=machines.library(db, campaign.library_fingerprint),
        suites=suites,
        launches=launches,
        samples=samples,
    )


def _suite(db: Database, name: Name) -> str:
    every = list(dict.fromkeys(run.suite for run in runs.listing(db, name.campaign)))
    if name.suite not in every:
        listed = ", ".join(every) or "none"
        raise UsageError(f"campaign {name.campaign} has no suite {name.suite}; it has: {listed}")
    return name.suite


def _table(db: Database, name: Name) -> list[Verdict]:
    """Empty for the name of a suite."""
    if name.suite:
        return []
    stages = verdicts.stages(db, name.campaign)
    if name.stage not in stages:
        listed = ", ".join(stages) or "none yet"
        raise UsageError(
            f"campaign {name.campaign} has no table {name.stage}; it has: {listed}. Single suites "
            f"are named {name.campaign}/SUITE"
        )
    return verdicts.get(db, name.campaign, name.stage)
