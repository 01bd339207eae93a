"""Ping-pongs on a simulated machine, and the machine that answers them as a real one did."""

from __future__ import annotations

import statistics
from pathlib import Path

from plumbline.core.plan import Plan, RoundTrips
from plumbline.core.selectors import Selector
from plumbline.launch.simulation import Simulation
from plumbline.measure import pingpong
from plumbline.results import twin
from plumbline.settings import starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db import campaigns, hockney
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError, command_name
from plumbline_db.probe_records import PingPong
from plumbline_db.records import EXPLAINING

FAR = "other_node"


def twin_of(db: Database, campaign: str, selector: Selector, mpi_prefix: Path | None) -> twin.Twin:
    """Fitted to the farthest pairs of ranks that the campaign has. Raises UsageError where it has
    no ping-pongs."""
    trips = hockney.half_trips(db, campaign, [pingpong.SUITE.name, EXPLAINING])
    if not trips:
        have = [campaign.id for campaign in campaigns.every(db) if hockney.get(db, campaign.id)]
        raise UsageError(
            f"{campaign} has no ping-pongs in {db.path} (campaigns that have some: "
            f"{', '.join(have) or 'none'}); measure them with `{command_name()} pingpong`"
        )
    pairs = ("other_node", "other_socket", "same_socket", "same_core")
    pair = next(name for name in pairs if any(trip.pair == name for trip in trips))
    measured = {trip.bytes: statistics.median(trip.seconds) for trip in trips if trip.pair == pair}
    near = pair != FAR

    def respond(simulation: Simulation) -> twin.Times:
        return half_trips(simulation, sorted(measured), near=near, mpi_prefix=mpi_prefix)

    return twin.fit(measured, respond, Simulation(library=selector), near=near)


def half_trips(
    simulation: Simulation, sizes: list[int], *, near: bool, mpi_prefix: Path | None = None
) -> twin.Times:
    """Between two ranks on two nodes, or on one."""
    settings = load(None, {"nprocs": 2, "nodes": 1 if near else 2, "simulate": simulation.library})
    settings = settings.but(simulate=simulation)
    toolchain = find_toolchain(mpi_prefix, settings=settings)
    plan = Plan(
        "pingpong",
        1,
        (),
        blocks=1,
        warmup=1,
        pingpongs=tuple(RoundTrips(size, 1) for size in sizes),
    )
    run, records = starting.starter(toolchain, settings).start(
        "pingpong", "twin", 0, plan.text(), {}
    )
    if not run.finished:
        raise PlumblineError(f"no simulated ping-pong: {run.reason}\n{run.stderr[-800:]}")
    return {
        record.bytes: statistics.median(record.round_trip_ns) / 2e9
        for record in records
        if isinstance(record, PingPong)
    }
