"""Ping-pongs over the sizes in some launches, kept in the database, and the model fitted to them.

Run again with the same settings it goes on where it was interrupted, or gives what is stored."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import get_args

import msgspec

from plumbline.core.plan import Plan, RoundTrips
from plumbline.measure import hockney
from plumbline.measure.launches import LaunchStore, Series
from plumbline.settings import identity
from plumbline.settings.toolchain import Toolchain
from plumbline.system.machine import processing_units
from plumbline.system.placement import here
from plumbline_db import hockney as table
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.hockney import HalfTrips, Hockney
from plumbline_db.probe_records import Pair
from plumbline_db.records import Campaign, Suite

SUITE = Suite("pingpong")
_FEW = 10
SIZES = (0, *(2**power for power in range(23)))


class PingPongSettings(msgspec.Struct, frozen=True):
    """The settings of a measurement of ping-pongs. `reps`: round trips a size up to 64 KiB, fewer
    beyond, at least ten."""

    nprocs: int
    sizes: tuple[int, ...] = SIZES
    reps: int = 100
    launches: int = 10
    seed: int = 1
    command: str = "pingpong"


class PairLatencies(msgspec.Struct, frozen=True):
    """The latencies of one class of pairs: the measured medians by size, and the lines, piece 0
    first."""

    pair: str
    half_trips: list[HalfTrips]
    lines: list[Hockney]


def plan(settings: PingPongSettings) -> Plan:
    """One launch. Raises UsageError for settings that nothing can be fitted to."""
    if len(settings.sizes) < hockney.LEAST_SIZES:
        raise UsageError(f"a line needs {hockney.LEAST_SIZES} sizes or more")
    trips = tuple(
        RoundTrips(size, max(min(settings.reps, _FEW), settings.reps * 65536 // max(size, 65536)))
        for size in settings.sizes
    )
    return Plan("check", settings.seed, (), pingpongs=trips, blocks=1)


def begin(db: Database, toolchain: Toolchain, settings: PingPongSettings, *, new: bool) -> Campaign:
    """The row that the launches of these settings belong to."""
    text = msgspec.json.encode(settings).decode()
    asked = identity.Identity(text, here(settings.nprocs, processing_units()), "pp")
    return identity.enter(db, toolchain, asked, new=new)


def run(store: LaunchStore, campaign: Campaign, settings: PingPongSettings) -> list[PairLatencies]:
    """Launches what is missing, fits, stores. Raises PlumblineError when launches fail or no pair
    of ranks is in any class."""
    store.progress.step("messages to and fro")
    Series(store, SUITE, plan(settings), {}).advance(settings.launches)
    measured = table.half_trips(store.db, campaign.id, [SUITE.name])
    if not measured:
        raise PlumblineError(
            "no pair of ranks is in a class: each may run in several sockets; bind the ranks "
            "(mpirun --bind-to core or socket)"
        )
    table.put(store.db, campaign.id, fitted(measured))
    identity.finish(store.db, campaign)
    return read(store.db, campaign)


def read(db: Database, campaign: Campaign) -> list[PairLatencies]:
    """Return what is stored, from near to far."""
    measured = table.half_trips(db, campaign.id, [SUITE.name])
    lines = table.get(db, campaign.id)
    return [
        PairLatencies(
            pair,
            [trips for trips in measured if trips.pair == pair],
            [line for line in lines if line.pair == pair],
        )
        for pair in get_args(Pair)
        if any(line.pair == pair for line in lines)
    ]


def fitted(measured: Sequence[HalfTrips]) -> list[Hockney]:
    """The lines of each class of pairs, those of all sizes first."""
    rows = []
    for pair, group in itertools.groupby(measured, key=lambda one: one.pair):
        of = hockney.fit({trips.bytes: trips.seconds for trips in group})
        rows += [_row(pair, piece, line) for piece, line in enumerate([of.whole, *of.pieces])]
    return rows


def _row(pair: Pair, piece: int, line: hockney.HockneyLine) -> Hockney:
    alpha, beta = line.alpha_seconds, line.beta_seconds_per_byte
    return Hockney(
        pair=pair,
        piece=piece,
        bytes_from=line.bytes_from,
        bytes_to=line.bytes_to,
        alpha_seconds=alpha.value,
        alpha_low=alpha.low,
        alpha_high=alpha.high,
        beta_seconds_per_byte=beta.value,
        beta_low=beta.low,
        beta_high=beta.high,
        deviation=line.deviation,
        launches=line.launches,
    )
