"""Runs of suites that are brought to their end, for `suite` and `verify`, and what they found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from plumbline.measure.conditions import Weakness
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings
from plumbline.suites import report
from plumbline.suites import run as running
from plumbline.suites.cases import RanksThere
from plumbline.suites.description import AskedSuite
from plumbline.suites.report import MeasuredSuite
from plumbline_db import machines, runs
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import Campaign, Library

from . import progress
from .base import Program


class SuitesRan(msgspec.Struct, frozen=True):
    campaign: Campaign
    title: str
    library: Library
    database: Path
    suites: list[MeasuredSuite]
    conditions: list[Weakness]

    def document(self) -> dict[str, Any]:
        head = {"id": self.campaign.id, "title": self.title, "nprocs": self.campaign.nprocs}
        measured = {"conditions": self.conditions, "suites": self.suites}
        document: dict[str, Any] = msgspec.to_builtins(
            head | {"library": self.library.id} | measured
        )
        return document


def run(
    program: Program, settings: Settings, title: str, suites: Sequence[AskedSuite], *, new: bool
) -> SuitesRan:
    """Measures what is missing. Raises UsageError for what cannot be measured, before a launch."""
    from plumbline.measure import conditions
    from plumbline.settings import starting
    from plumbline.settings.toolchain import find_toolchain

    database = program.database
    toolchain = find_toolchain(program.mpi, settings=settings, beside=database.parent)
    placement = settings.ranks.placement(toolchain.launcher.processing_units())
    simulated = settings.ranks.simulate
    asked = running.SuiteRun(
        placement.nprocs,
        title,
        tuple(suites),
        settings.sampling.seed,
        None if simulated is None else simulated.library,
    )
    every = running.prepare(asked, toolchain, placement)
    starter = starting.starter(toolchain, settings)
    ranks = RanksThere(placement.nprocs, placement.nodes)
    for of in every:
        refusal = starter.refusal(running.whole_plan(of, asked, ranks, of.first).text())
        if refusal is not None:
            raise UsageError(f"suite {of.suite.name}: the probe refuses it: {refusal}")
    with Database.open(database, write=True) as db:
        row = running.begin(db, toolchain, asked, placement, new=new)
        if row.state != "finished":
            in_all = sum(running.launches_of(of.suite, asked) for of in every)
            with progress.Bar(in_all=in_all) as bar:
                running.measure(LaunchStore(db, row.id, starter, bar), row, asked, every)
        return SuitesRan(
            row,
            title,
            machines.library(db, row.library_fingerprint),
            database,
            [report.of_suite(db, row, of) for of in every],
            conditions.of_launches(runs.surroundings(db, row.id)),
        )
