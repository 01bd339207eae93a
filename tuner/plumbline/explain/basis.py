"""The numbers that the models are fed with here: α and β from ping-pongs, γ from reductions inside
a rank, the gaps of LogGP from floods. All of it read from launches that are stored: those of the
campaign's own suite `explain` (measuring.py), else the last `plumbline measure pingpong` of this
machine and library.

Some libraries can also count the messages of each rank to each other one, and print them at the end
(CountsMessages). An algorithm that sends exactly what the default sends is what the default does,
whatever time it takes. A launch for that calls one function at one size, by the default or by one
candidate, each on a duplicate of MPI_COMM_WORLD; all else that is sent is the same in all of them.
Candidates are tried from the one whose time is nearest to the default's, until one sends the same.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, get_args

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.libraries import CountsMessages, Family
from plumbline.measure import hockney
from plumbline.model.schedules import Network, Piece
from plumbline.settings import Settings
from plumbline_db import hockney as table
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.hockney import Hockney
from plumbline_db.probe_records import Pair
from plumbline_db.records import EXPLAINING, Campaign, Medians, Suite, Trial

if TYPE_CHECKING:
    from plumbline.measure.launches import LaunchStore

SUITE = Suite(EXPLAINING)
INSIDE = "MPI_Reduce_local"
FLOODS = {"in": ("MPI_Gather", "gather_naive_irecv"), "out": ("MPI_Scatter", "scatter_naive_isend")}
_NEAR_TO_FAR = get_args(Pair)


class Basis(msgspec.Struct, frozen=True):
    """`pair`: the class of the ranks that the messages went between, the farthest one there was.
    `source`: where from. `deviation`: by how much the fitted lines are off the measured messages,
    on average. `missing`: what was not measured, in words."""

    network: Network
    pair: str
    source: str
    deviation: float
    launches: int
    missing: list[str]


def read_basis(db: Database, campaign: Campaign) -> Basis | None:
    """None where no ping-pong is stored that fits."""
    lines, source = table.get(db, campaign.id), "ping-pongs of this campaign"
    if not lines:
        lines = table.latest(db, campaign.machine, campaign.library_fingerprint)
        source = "the last plumbline measure pingpong on this machine with this library"
    if not lines:
        return None
    pair = max({line.pair for line in lines}, key=_NEAR_TO_FAR.index)
    used = in_force([line for line in lines if line.pair == pair])
    trips = [trip for trip in table.half_trips(db, campaign.id, [SUITE.name]) if trip.pair == pair]
    measured = tuple((float(trip.bytes), statistics.median(trip.seconds)) for trip in trips)
    network = Network(_pieces(used), measured)
    medians = runs.medians(db, campaign.id, [SUITE.name])
    gamma = _gamma(medians)
    gaps = {way: _gap(medians, campaign.nprocs, network, way) for way in FLOODS}
    missing = [] if gamma is not None else ["γ, so that reductions are left out of predictions"]
    if campaign.nprocs > 2 and None in gaps.values():
        missing.append("gaps, so that messages never overlap")
    return Basis(
        network=Network(network.pieces, measured, gamma, gaps["out"], gaps["in"]),
        pair=pair,
        source=source,
        deviation=statistics.fmean(hockney.deviation for hockney in used),
        launches=used[0].launches,
        missing=missing,
    )


def in_force(lines: Sequence[Hockney]) -> list[Hockney]:
    """Return those of one class of pairs: the two pieces where the library changes protocol, else
    the line."""
    pieces = sorted((line for line in lines if line.piece > 0), key=lambda piece: piece.bytes_from)
    return pieces or [line for line in lines if line.piece == 0]


def _pieces(lines: Sequence[Hockney]) -> tuple[Piece, ...]:
    """Between two pieces the border is in the middle, as sizes double."""
    ends = [math.sqrt(a.bytes_to * b.bytes_from) for a, b in itertools.pairwise(lines)]
    return tuple(
        Piece(end, line.alpha_seconds, line.beta_seconds_per_byte)
        for line, end in zip(lines, [*ends, math.inf], strict=True)
    )


def _gamma(medians: Sequence[Medians]) -> float | None:
    """Seconds a byte: the slope of a line through the reductions of all sizes."""
    import numpy as np

    seconds_by_size = {
        median.case.bytes: statistics.median(median.seconds)
        for median in medians
        if median.case.function == INSIDE and median.case.variant == "default"
    }
    if len(seconds_by_size) < hockney.LEAST_SIZES:
        return None
    sizes = sorted(seconds_by_size)
    times = np.array([seconds_by_size[size] for size in sizes], dtype=float)
    return hockney.line(np.array(sizes, dtype=float), times)[1]


def _gap(medians: Sequence[Medians], nprocs: int, network: Network, way: str) -> float | None:
    """Return what each message but the first adds to a flood of p - 1 messages of next to
    nothing."""
    function, variant = FLOODS[way]
    for median in medians:
        if (median.case.function, median.case.variant) == (function, variant) and nprocs > 2:
            block = median.case.bytes / nprocs
            more = statistics.median(median.seconds) - network.message(block)
            return max(0.0, more / (nprocs - 2))
    return None


CALLS = 16
MOST_RANKS = 16  # what is printed grows with their square
MOST_TRIED = 12
TRIES = 5
"""Ranks print at the same time, and lines may come mixed. Counts are the same in every launch, so
that what two of these launches say alike is taken."""

Matrix = dict[tuple[int, int], tuple[int, int]]
"""Messages and bytes by sender and receiver."""


def suite(target: Target, position: int) -> Suite:
    """Return the suite of the default (0), or of a candidate by its place among those to try."""
    cell = f"{target.function.removeprefix('MPI_')}-{target.bytes}"
    return SUITE.part(cell).of(str(position))


def to_try(trials: Sequence[Trial]) -> list[Trial]:
    """The library's own algorithms, the nearest to the default's time first."""
    own = [trial for trial in trials if trial.variant == "default" and trial.knobs and trial.ratio]
    return sorted(own, key=lambda trial: abs(math.log(trial.ratio or 1.0)))[:MOST_TRIED]


def observe(
    family: CountsMessages,
    store: LaunchStore,
    settings: Settings,
    searched: Mapping[Target, Sequence[Trial]],
    hot: Mapping[str, str],
) -> None:
    """Launches what tells the defaults of these cells."""
    for target, trials in searched.items():
        plan = _plan(settings, target, {})
        default = _launched(family, store, suite(target, 0), plan, hot)
        if default is None:
            return  # it counts nothing here
        for position, trial in enumerate(to_try(trials), 1):
            plan = _plan(settings, target, trial.knobs)
            matrix = _launched(family, store, suite(target, position), plan, hot)
            if matrix is not None and same(matrix, default):
                break


def default_sends(
    family: Family | None, db: Database, campaign: str, target: Target, trials: Sequence[Trial]
) -> tuple[bool, Trial | None]:
    """Return whether the library was asked, and the candidate that sends what the default sends."""
    if not isinstance(family, CountsMessages):
        return False, None
    default = _stored(family, db, campaign, suite(target, 0).name)
    if default is None:
        return False, None
    for position, trial in enumerate(to_try(trials), 1):
        matrix = _stored(family, db, campaign, suite(target, position).name)
        if matrix is not None and same(matrix, default):
            return True, trial
    return True, None


def same(a: Matrix, b: Matrix) -> bool:
    """Return whether two launches sent the same, but for less than one message or byte a call."""
    return all(
        abs(x - y) < CALLS // 2
        for pair in a.keys() | b.keys()
        for x, y in zip(a.get(pair, (0, 0)), b.get(pair, (0, 0)), strict=True)
    )


def parse(family: CountsMessages, text: str) -> Matrix | None:
    """The messages that the library sent for its own collectives. None where there are none, or a
    pair stands twice."""
    matrix: Matrix = {}
    for sender, receiver, messages, size in family.messages(text):
        if (sender, receiver) in matrix:
            return None
        matrix[sender, receiver] = (messages, size)
    return matrix or None


def agreed(family: CountsMessages, texts: Iterable[str]) -> Matrix | None:
    """Return what two launches say alike."""
    matrices: list[Matrix] = []
    for text in texts:
        matrix = parse(family, text)
        if matrix is not None and matrix in matrices:
            return matrix
        matrices += [] if matrix is None else [matrix]
    return None


def _plan(settings: Settings, target: Target, knobs: Mapping[str, str]) -> Plan:
    case = PlanCase(
        target.function,
        target.bytes,
        configuration=Configuration.of(knobs),
        plain_duplicate=not knobs,
    )
    return Plan(
        name=SUITE.name,
        seed=settings.sampling.seed,
        cases=(case,),
        data=settings.cases.data,
        blocks=1,
        reps=CALLS,
        warmup=0,
        rewarm=0,
        sync="none",
    )


def _launched(
    family: CountsMessages, store: LaunchStore, own: Suite, plan: Plan, hot: Mapping[str, str]
) -> Matrix | None:
    plan = msgspec.structs.replace(plan, name=own.name)
    texts: list[str] = []
    for sequence in range(TRIES):
        run = store.launch(own, sequence, plan, dict(hot) | family.counting).run
        texts += [run.stderr] if run.finished else []
        matrix = agreed(family, texts)
        if matrix is not None or not run.finished or family.counted not in run.stderr:
            return matrix
    return None


def _stored(family: CountsMessages, db: Database, campaign: str, name: str) -> Matrix | None:
    launched = (runs.get(db, campaign, name, sequence) for sequence in range(TRIES))
    there = itertools.takewhile(lambda run: run is not None, launched)
    return agreed(family, (run.stderr for run in there if run and run.finished))
