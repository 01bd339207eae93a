"""Cells of which events are recorded: a launch for each benchmark, stored like every other; asked
for again they are read from the database."""

from __future__ import annotations

import msgspec

from plumbline.core.plan import Plan
from plumbline.measure.launches import LaunchStore, Series
from plumbline.overlap import delivered, suite
from plumbline.overlap.settings import OverlapSettings
from plumbline.settings import identity
from plumbline_db import launch_records, runs
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Campaign

TRACED = 11  # triples, the last ones


def plan(settings: OverlapSettings, bench: str) -> Plan:
    whole = suite.plan(settings, bench)
    cells = tuple(msgspec.structs.replace(overlap, traced=TRACED) for overlap in whole.overlaps)
    return msgspec.structs.replace(whole, overlaps=cells)


def run(
    store: LaunchStore, campaign: Campaign, settings: OverlapSettings
) -> dict[str, list[ProbeRecord]]:
    """The records of a launch by benchmark. Raises PlumblineError where launches fail, or data do
    not come as they were sent."""
    environment = store.starter.family.in_environment(settings.knobs.as_dict())
    records_by_bench = {}
    for bench in settings.benches:
        store.progress.step(f"timeline: {bench}")
        Series(store, suite.suite_of(bench), plan(settings, bench), environment).advance()
        launched = [
            run
            for run in runs.listing(store.db, campaign.id, [suite.suite_of(bench).name])
            if run.finished
        ]
        records_by_bench[bench] = launch_records.of_run(store.db, launched[-1].id)
        delivered.require(records_by_bench[bench])
    identity.finish(store.db, campaign)
    return records_by_bench
