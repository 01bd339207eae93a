"""plumbline pingpong"""

from __future__ import annotations

import statistics
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from plumbline.measure.pingpong_settings import SIZES, PingPongSettings
from plumbline.system.machine import processing_units
from plumbline.system.words import with_interval
from plumbline_db.errors import UsageError

from . import base, common, options, progress
from .base import Program

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.measure.pingpong import PairLatencies


_FEWEST = 2
_USUAL = PingPongSettings(_FEWEST)


class RoundTripSettings(NamedTuple):
    """The settings of what is measured, as they are typed."""

    nprocs: int | None
    sizes: list[int] | None
    reps: int
    launches: int
    seed: int


@base.command(
    "pingpong",
    gathers={"measured": RoundTripSettings},
    takes="mpi db json nprocs sizes seed",
    context_settings={"default_map": options.usual("seed")},
    told={
        "nprocs": {"help": "Ranks.", "unset": f"all cores, at least {_FEWEST}"},
        "sizes": {"unset": f"{SIZES[0]} and {SIZES[1]} to {SIZES[-1]}, doubling"},
    },
)
@options.reps("Round trips of a size in a launch; fewer above 64 KiB.", default=_USUAL.reps)
@options.launches(default=_USUAL.launches)
@options.new
def command(
    program: Program,
    measured: RoundTripSettings,
    new: bool,
) -> int:
    """Latency and bandwidth between ranks, by class of pair.

    Half round trips of messages between two ranks on the same core, the same socket, other sockets
    and other nodes, as far as the launches have such pairs, and Hockney's α + β m fitted to them
    (docs/measurement.md). Everything is stored in the database.

    \b
    Example:
      plumbline pingpong
      plumbline pingpong -n 4 --sizes 0,8,1024,65536,1048576 --json
    """
    from plumbline.measure import pingpong
    from plumbline.measure.launches import LaunchStore
    from plumbline.settings import campaign_file, starting
    from plumbline.settings.toolchain import find_toolchain
    from plumbline_db.connection import Database

    if measured.nprocs is not None and measured.nprocs < _FEWEST:
        raise UsageError(f"--nprocs {measured.nprocs}: {_FEWEST} at least")
    chosen_sizes = tuple(sorted(set(measured.sizes or SIZES)))
    ranks = measured.nprocs or max(_FEWEST, processing_units())
    settings = PingPongSettings(
        ranks, chosen_sizes, measured.reps, measured.launches, measured.seed
    )
    toolchain = find_toolchain(program.mpi)
    starter = starting.starter(toolchain, campaign_file.load(None, {"nprocs": ranks}))
    starter.require(pingpong.plan(settings).text())
    with Database.open(program.database, write=True) as db:
        row = pingpong.begin(db, toolchain, settings, new=new)
        if row.state == "finished":
            pair_latencies = pingpong.read(db, row)
        else:
            with progress.Bar(in_all=measured.launches) as bar:
                pair_latencies = pingpong.run(LaunchStore(db, row.id, starter, bar), row, settings)
    document = {"id": row.id, "nprocs": ranks, "pairs": pair_latencies}
    common.answer(program, document, (_lines(pair_latencies), "", _times(pair_latencies)))
    return 0


def _lines(pair_latencies: list[PairLatencies]) -> Table:
    in_unit = partial(with_interval, form=".3g")
    names = ("pair", "bytes", "α µs", "β ns/B", "GB/s", "off by", "launches")
    table = common.table(*names, left=("pair",))
    for latencies in pair_latencies:
        for line in latencies.lines:
            beta = line.beta_seconds_per_byte
            table.add_row(
                latencies.pair if line.piece == 0 else "",
                f"{line.bytes_from}–{line.bytes_to}",
                in_unit(line.alpha_seconds, line.alpha_low, line.alpha_high, unit=1e6),
                in_unit(beta, line.beta_low, line.beta_high, unit=1e9),
                f"{1e-9 / beta:.3g}" if beta > 0 else "",
                f"{100 * line.deviation:.0f} %",
                str(line.launches),
            )
    return table


def _times(pair_latencies: list[PairLatencies]) -> Table:
    pairs = [
        name for latencies in pair_latencies for name in (f"{latencies.pair} µs", "launches µs")
    ]
    table = common.table("bytes", *pairs)
    sizes = sorted({trips.bytes for latencies in pair_latencies for trips in latencies.half_trips})
    for size in sizes:
        row = [str(size)]
        for latencies in pair_latencies:
            seconds = next((t.seconds for t in latencies.half_trips if t.bytes == size), [])
            if not seconds:
                row += ["", ""]
                continue
            row += [
                f"{1e6 * statistics.median(seconds):.2f}",
                f"{1e6 * min(seconds):.2f}–{1e6 * max(seconds):.2f}",
            ]
        table.add_row(*row)
    return table
