"""A digital twin: latency, bandwidth and the cost of a message of a simulated machine, fitted to
ping-pongs of a real one, and how far its own ping-pongs lie from them.

SimGrid multiplies latency and bandwidth by factors that depend on the size of a message. They are
not looked up but measured: `respond` runs ping-pongs on a simulated machine, and what it answers is
a sum of a part that grows with the latency, one with the seconds per byte, and one with the cost of
sending and receiving. Least absolute relative deviations over the sizes, as in hockney.py."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, get_args

import msgspec
import numpy as np

from plumbline.launch.simulation import Simulation
from plumbline.verify import least_absolute
from plumbline_db.errors import UsageError

if TYPE_CHECKING:
    from plumbline.measure.hockney import Vector

from pathlib import Path

from plumbline.core.plan import Plan, RoundTrips
from plumbline.core.selectors import Selector
from plumbline.measure import pingpong
from plumbline.settings import starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db import campaigns, hockney
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.probe_records import Pair, PingPong
from plumbline_db.records import EXPLAINING

_FAR = "other_node"


def twin_of(db: Database, campaign: str, selector: Selector, mpi_prefix: Path | None) -> Twin:
    """Fitted to the farthest pairs of ranks that the campaign has. Raises UsageError where it has
    no ping-pongs."""
    trips = hockney.half_trips(db, campaign, [pingpong.SUITE.name, EXPLAINING])
    if not trips:
        have = [campaign.id for campaign in campaigns.every(db) if hockney.get(db, campaign.id)]
        raise UsageError(
            f"{campaign} has no ping-pongs in {db.path} (campaigns that have some: "
            f"{', '.join(have) or 'none'}); measure them with `{command_name()} pingpong`"
        )
    pair = max({trip.pair for trip in trips}, key=get_args(Pair).index)
    measured = {trip.bytes: statistics.median(trip.seconds) for trip in trips if trip.pair == pair}
    near = pair != _FAR

    def respond(simulation: Simulation) -> Times:
        return half_trips(simulation, sorted(measured), near=near, mpi_prefix=mpi_prefix)

    return fit(measured, respond, Simulation(library=selector), near=near)


def half_trips(
    simulation: Simulation, sizes: list[int], *, near: bool, mpi_prefix: Path | None = None
) -> Times:
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


Times = Mapping[int, float]  # by bytes: seconds of half a round trip
Respond = Callable[[Simulation], Times]

LATENCY = 1e-6  # of the machines that show what SimGrid makes of each number
BANDWIDTH = 1e9
LEAST_SECONDS = 1e-9


class Size(msgspec.Struct, frozen=True):
    bytes: int
    measured_seconds: float
    simulated_seconds: float

    @property
    def error(self) -> float:
        return self.simulated_seconds / self.measured_seconds - 1


class Twin(msgspec.Struct, frozen=True):
    """`error`: the mean over the sizes of |simulated - measured| / measured."""

    simulation: Simulation
    sizes: list[Size]
    error: float


def fit(measured: Times, respond: Respond, start: Simulation, *, near: bool) -> Twin:
    """`near`: the ranks share a node, so that the numbers of messages inside one are fitted, in a
    machine that is `start` otherwise. Raises UsageError for fewer than three sizes with bytes."""
    sizes = sorted(size for size in measured if size > 0)
    if len(sizes) < 3:
        raise UsageError(f"{len(sizes)} sizes are too few to fit three numbers to")

    def machine(latency: float, bandwidth: float, message: float) -> Simulation:
        latency = max(latency, LEAST_SECONDS)
        values = {"send_seconds": message / 2, "receive_seconds": message / 2}
        if near:
            values |= {"near_latency_seconds": latency}
            values |= {"near_bandwidth_bytes_per_second": bandwidth}
        else:
            # The latency between two nodes consists of two links and the switch.
            values |= {"latency_seconds": latency / 2, "switch_latency_seconds": 0.0}
            values |= {"bandwidth_bytes_per_second": bandwidth}
        return msgspec.structs.replace(start, **values)

    def times(latency: float, bandwidth: float, message: float) -> Vector:
        answer = respond(machine(latency, bandwidth, message))
        return np.array([answer[size] for size in sizes])

    base = times(LATENCY, BANDWIDTH, 0.0)
    of_latency = times(2 * LATENCY, BANDWIDTH, 0.0) - base
    of_bytes = times(LATENCY, BANDWIDTH / 2, 0.0) - base
    of_message = times(LATENCY, BANDWIDTH, LATENCY) - base
    measured_seconds = np.array([measured[size] for size in sizes])
    columns = np.stack([of_latency, of_bytes, of_message])
    # Weights ≥ 0 of the columns with the least Σ |Σ w c - t| / t.
    solved = least_absolute.weights((columns / measured_seconds).T, np.ones(len(measured_seconds)))
    latency, per_byte, message = solved.tolist()
    bandwidth = BANDWIDTH / max(per_byte, 1e-6)
    fitted = machine(_digits(latency * LATENCY), _digits(bandwidth), _digits(message * LATENCY))
    answer = respond(fitted)
    compared = [Size(size, measured[size], answer[size]) for size in sizes]
    return Twin(fitted, compared, statistics.fmean(abs(size.error) for size in compared))


def _digits(value: float) -> float:
    """Three digits: more would not be measured."""
    return float(f"{value:.3g}")


def table(simulation: Simulation) -> str:
    """The table of a campaign file."""
    lines = ["[simulate]"]
    for name, value in msgspec.to_builtins(simulation).items():
        text = f'"{value}"' if isinstance(value, str) else repr(value)
        lines.append(f"{name} = {text}")
    return "\n".join(lines) + "\n"
