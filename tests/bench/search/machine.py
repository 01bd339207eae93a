"""The whole campaign on this machine against a sweep of the same space with a launch for each
trial, one after the other, in the same hour.

The sweep has the functions that the campaign searched, all sizes in a launch, every candidate of
the library and of ours, `--runs` launches of each. Nothing is drawn: both start ranks. Prints the
seconds of both and the load while they ran; asserts nothing."""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from plumbline.campaign import loop as campaign
from plumbline.core.plan import PlanCase
from plumbline.measure import tables
from plumbline.measure.launches import LaunchStore
from plumbline.settings import identity, starting
from plumbline_db import findings, runs
from plumbline_db.connection import Database

from .sweeps import SWEEPS, Here, here

REAL = "openmpi-4"


class Side(msgspec.Struct, frozen=True):
    launches: int
    seconds: float
    wall_seconds: float
    load: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1, help="launches of each trial of the sweep")
    parser.add_argument("--guidelines", default="", help="of the table; none: those of the sweep")
    parser.add_argument("--sizes", default="", help="none: those of the sweep")
    parser.add_argument("--whole", action="store_true", help="a campaign with default settings")
    parser.add_argument("--share", type=float, default=1.0, help="of the trials, drawn at random")
    parser.add_argument("--functions", default="", help="of the sweep; none: those searched; all")
    options = parser.parse_args()
    keys: dict[str, Any] = {"launch_timeout_seconds": 600.0}
    if options.guidelines:
        keys["guidelines"] = options.guidelines.split(",")
    if options.sizes:
        keys["sizes"] = [int(word) for word in options.sizes.split(",")]
    sweep = SWEEPS[REAL]
    if options.whole:
        sweep = msgspec.structs.replace(sweep, keys={"nprocs": sweep.keys["nprocs"]})
    at = here(sweep, **keys)
    ours, searched, (before, after) = _campaign(at)
    functions = options.functions.split(",") if options.functions else searched
    if options.functions == "all":
        functions = list(at.sizes())
    theirs, trials = _sweep(at, functions, options.runs, options.share)
    print(f"campaign: {_line(ours)}; violations {before} -> {after}")
    print(f"sweep of {', '.join(functions)}: {_line(theirs)}; {trials} trials")
    whole = theirs.seconds / options.share
    print(f"the whole sweep: {whole:.1f} s; campaign over sweep {ours.seconds / whole:.2f}")


def sweep_seconds(nprocs: int, share: float) -> float:
    """Seconds in launches of the whole space of a default campaign, a launch for each trial, by a
    `share` of it that is drawn at random."""
    at = here(msgspec.structs.replace(SWEEPS[REAL], keys={"nprocs": nprocs}))
    side, _ = _sweep(at, list(at.sizes()), 1, share)
    return side.seconds / share


def _line(side: Side) -> str:
    load = f"{min(side.load):.1f} to {max(side.load):.1f}"
    return (
        f"{side.launches} launches, {side.seconds:.1f} s in launches, {side.wall_seconds:.1f} s "
        f"by the clock, load {load} (median {statistics.median(side.load):.1f})"
    )


def _campaign(at: Here) -> tuple[Side, list[str], tuple[int, int]]:
    load: list[float] = []

    class Watch:
        def launched(self, suite: str, run: object) -> None:
            del suite, run
            load.append(os.getloadavg()[0])

        def step(self, text: str) -> None:
            print(text, flush=True)

        def expect(self, seconds: float) -> None:
            del seconds

    with (
        tempfile.TemporaryDirectory(prefix="plumbline-") as folder,
        Database.open(Path(folder, "bench.db"), write=True) as db,
    ):
        starter = starting.starter(at.bench, at.settings)
        begun = identity.begin(db, at.bench, at.settings, new=True)
        store = LaunchStore(db, begun.id, starter, Watch())
        started = time.monotonic()
        campaign.CampaignLoop(store, at.bench, begun, at.settings, Path(folder, "exports")).run()
        wall = time.monotonic() - started
        launches = runs.listing(db, begun.id)
        found = findings.all_searches(db, begun.id)
        counts = [
            sum(one.verdict == "violated" for one in findings.get_verdicts(db, begun.id, stage))
            for stage in ("before", "after")
        ]
        side = Side(len(launches), sum(one.seconds for one in launches), wall, load)
        searched = list(dict.fromkeys(one.function for one in found if one.opened_by))
        return side, searched, (counts[0], counts[1])


def _sweep(at: Here, functions: list[str], runs_each: int, share: float) -> tuple[Side, int]:
    starter = starting.starter(at.bench, at.settings)
    trials = [
        (function, candidate)
        for function in functions
        for candidate in dict.fromkeys(
            one for size in at.sizes()[function] for one in at.space(function, size)
        )
    ]
    chance = random.Random(1)
    trials = chance.sample(trials, round(share * len(trials)))
    load, seconds, launches = [], 0.0, 0
    started = time.monotonic()
    for function, candidate in trials:
        cases = [
            candidate.case(function, size)
            for size in at.sizes()[function]
            if candidate in at.space(function, size)
        ]
        # The knob is in force for the launch as a whole, as such tools set it.
        plain = [PlanCase(one.function, one.bytes, one.variant) for one in cases]
        extra = at.bench.space.hot_environment | at.bench.family.in_environment(
            candidate.configuration.as_dict()
        )
        for number in range(runs_each):
            plan = msgspec.structs.replace(
                tables.plan(at.settings, plain), name=f"trial-{launches}", seed=number
            )
            run, _ = starter.start("bench", "trial", launches, plan.text(), dict(extra))
            launches += 1
            seconds += run.seconds
            load.append(os.getloadavg()[0])
    wall = time.monotonic() - started
    return Side(launches, seconds, wall, load), len(trials)


if __name__ == "__main__":
    main()
