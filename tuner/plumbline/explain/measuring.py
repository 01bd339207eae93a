"""Measurements that explanations need and nobody has made: short ping-pongs, reductions inside a
rank and two floods, in launches of the campaign's own, suite `explain`; and, where the library can
be asked, what its default sends. Stored once, like any other launch."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.core.cell import Target
from plumbline.core.plan import Plan, PlanCase, RoundTrips, least_bytes
from plumbline.explain.basis import FLOODS, INSIDE, MOST_RANKS, SUITE, observe
from plumbline.libraries import CountsMessages
from plumbline.measure import pingpong
from plumbline.measure.launches import LaunchStore, Progress, Series
from plumbline.measure.settling import until_settled
from plumbline.search.outcome import first_of
from plumbline.settings import Settings, identity, starting
from plumbline.settings import toolchain as toolchains
from plumbline_db import findings, machines
from plumbline_db import hockney as table
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import Campaign, Trial

MESSAGES = (0, 8, 64, 512, 2048, 8192, 32768, 131072, 1048576)
REDUCED = (1024, 4096, 16384, 65536, 262144)
LAUNCHES = 6  # the fewest that have an interval
_TRIPS = 50


def plan(settings: Settings) -> Plan:
    """One launch."""
    data = settings.cases.data
    floods = [
        PlanCase(function, least_bytes(function, settings.ranks.nprocs, data), variant)
        for function, variant in FLOODS.values()
        if settings.ranks.nprocs > 2
    ]
    simulated = settings.ranks.simulate is not None
    unsettled = Plan(
        name=SUITE.name,
        seed=settings.sampling.seed,
        cases=(*(PlanCase(INSIDE, size) for size in REDUCED), *floods),
        data=data,
        blocks=settings.sampling.blocks,
        reps=settings.sampling.reps,
        warmup=1 if simulated else 16,
        sync=settings.start_scheme,
        pingpongs=tuple(RoundTrips(size, 1 if simulated else _TRIPS) for size in MESSAGES),
    )
    settled = until_settled(unsettled, simulated=simulated)
    return msgspec.structs.replace(settled, warmup=unsettled.warmup)  # round trips have no other


def launches(campaign: Campaign) -> int:
    """Return how many there are in all."""
    return LAUNCHES if identity.settings_of(campaign.settings).ranks.simulate is None else 1


def measure(
    db: Database, campaign: Campaign, progress: Progress | None = None, beside: Path | None = None
) -> None:
    """Launches what is missing, and stores the lines that are fitted to it. Raises UsageError where
    the library that is found here is not the campaign's."""
    if campaign.imported_from:
        raise UsageError(f"campaign {campaign.named} can be explained where it was run")
    settings = identity.settings_of(campaign.settings)
    prefix = Path(machines.library(db, campaign.library_fingerprint).prefix)
    toolchain = toolchains.find_toolchain(prefix, settings=settings, beside=beside)
    installed, library = toolchain.installation.library, campaign.library_fingerprint
    if (installed.fingerprint, toolchain.machine.id) != (library, campaign.machine):
        raise UsageError(
            f"campaign {campaign.id} was run on another machine or with another build of its "
            f"library than {installed.id} under {prefix}: it can be explained there"
        )
    starter = starting.starter(toolchain, settings)
    starter.require(plan(settings).text())
    store = LaunchStore(db, campaign.id, starter, progress)
    store.progress.step("messages to and fro, reductions inside a rank")
    Series(store, SUITE, plan(settings), {}).advance(launches(campaign))
    table.put(db, campaign.id, pingpong.fitted(table.half_trips(db, campaign.id, [SUITE.name])))
    # Not every version can force an algorithm if the site has rules of its own.
    family, few = toolchain.family, campaign.nprocs <= MOST_RANKS
    asks = few and campaign.site_rules is None
    if asks and isinstance(family, CountsMessages) and family.counts in toolchain.knobs:
        store.progress.step("who sends how much to whom")
        observe(family, store, settings, _violated(db, campaign), toolchain.space.hot_environment)


def _violated(db: Database, campaign: Campaign) -> dict[Target, list[Trial]]:
    """Searched cells that violate a guideline, with what was tried first."""
    cells = {
        Target(verdict.function, verdict.bytes)
        for verdict in findings.get_verdicts(db, campaign.id, "before")
        if verdict.verdict == "violated" and verdict.replaceable
    }
    first_searches = first_of(findings.all_searches(db, campaign.id))
    return {target: search.trials for target, search in first_searches.items() if target in cells}
