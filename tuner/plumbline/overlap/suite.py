"""The overlap suite: every benchmark over a grid of message sizes and amounts of work, in launches
of their own, kept in the database. Run again with the same settings it goes on where it was
interrupted, or gives what is stored."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from plumbline import identity
from plumbline.machine import processing_units
from plumbline.measure import Laboratory, Series
from plumbline.overlap import benches
from plumbline.overlap.benches import Aid
from plumbline.overlap.metric import Ratio, latency, ratio
from plumbline.placement import here
from plumbline.plan import OverlapCell, Plan
from plumbline.workbench import Workbench
from plumbline_db import campaigns, overlaps, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign, Overlap, OverlapLatency

_SMALL, _LARGE = 64, 4 << 20  # bytes
_SHORT, _LONG = 2_000, 4_096_000  # nanoseconds of work


class Settings(msgspec.Struct, frozen=True):
    """`launches` of each benchmark (names of benches.py), `triples` of each cell in them; `knobs`:
    of the library, in force in all of them."""

    nprocs: int
    benches: tuple[str, ...] = benches.QUICK
    sizes: tuple[int, ...] = ()
    work_ns: tuple[int, ...] = ()
    kernel: str = "registers"
    aid: Aid = "none"
    test_ns: int = 0
    knobs: tuple[tuple[str, str], ...] = ()
    triples: int = 50
    launches: int = 5
    seed: int = 1
    command: str = "overlap"


class Cell(msgspec.Struct, frozen=True):
    """What is known of a cell on a rank; no ratio where there is nothing to overlap. `bench` as in
    benches.py; `threads`: of the benchmark `load`, which has no amount of work."""

    bench: str
    bytes: int
    work_ns: int
    launches: int
    ratio: Ratio | None
    rank: int = 0
    threads: int = 0


def axes(*, quick: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and amounts of work: in steps of a factor of 2, or of its square root."""
    return _steps(_SMALL, _LARGE, 1 if quick else 2), _steps(_SHORT, _LONG, 1 if quick else 2)


def _steps(low: int, high: int, parts: int) -> tuple[int, ...]:
    found = (round(low * 2 ** (step / parts)) for step in itertools.count())
    return tuple(itertools.takewhile(lambda one: one <= high, found))


def plan(settings: Settings, bench: str) -> Plan:
    one = benches.of(bench)
    cells = tuple(
        OverlapCell(
            one.bench,
            size,
            work,
            settings.kernel,
            settings.test_ns,
            settings.triples,
            one.function,
            one.requests,
            one.threads,
            settings.aid in ("helper", "spare"),
        )
        for size in settings.sizes
        for work in settings.work_ns
    )
    return Plan("check", settings.seed, (), overlaps=cells, blocks=1)


def begin(db: Database, bench: Workbench, settings: Settings, *, new: bool) -> Campaign:
    """The row that the launches of these settings belong to."""
    text = msgspec.json.encode(settings).decode()
    return identity.enter(
        db, bench, text, here(settings.nprocs, processing_units()), new=new, mark="ov"
    )


def run(lab: Laboratory, campaign: Campaign, settings: Settings) -> list[Cell]:
    """Launches what is missing, a launch of each benchmark in turn. Raises PlumblineError when
    launches fail."""
    environment = lab.starter.family.in_environment(dict(settings.knobs))
    series = {
        bench: Series(lab, suite_of(bench), plan(settings, bench), environment)
        for bench in settings.benches
    }
    for _ in range(settings.launches):
        for bench, one in series.items():
            lab.progress.step(f"overlap: {bench}")
            one.advance()
    done = msgspec.structs.replace(campaign, state="finished", finished=identity.now())
    campaigns.put(lab.db, done)
    return read(lab.db, campaign, settings)


def suite_of(bench: str) -> str:
    return f"overlap-{bench}"


def read(db: Database, campaign: Campaign, settings: Settings) -> list[Cell]:
    """What is stored. Raises PlumblineError where data did not come as they were sent."""
    found = []
    for bench in settings.benches:
        by_cell: dict[tuple[int, int, int, int], list[tuple[Overlap, float]]] = {}
        for launched in runs.listing(db, campaign.id, [suite_of(bench)]):
            if launched.outcome == "finished":
                records = overlaps.of_launch(db, launched.id)
                empty = [ns for one in records if isinstance(one, OverlapLatency) for ns in one.ns]
                for one in records:
                    if isinstance(one, Overlap):
                        _refuse_wrong(one)
                        key = (one.bytes, one.work_ns, one.rank, one.threads)
                        by_cell.setdefault(key, []).append((one, latency(empty)))
        found += [
            Cell(bench, size, work, len(those), ratio(those), rank, threads)
            for (size, work, rank, threads), those in sorted(by_cell.items())
        ]
    return found


def _refuse_wrong(cell: Overlap) -> None:
    if not cell.delivered:
        raise PlumblineError(
            f"{cell.bench}: of {cell.bytes} bytes others came than were sent; the library is wrong"
        )


def lines(cells: Sequence[Cell]) -> dict[int, float]:
    """Seconds of communication alone by size: the white line of a heat map."""
    by_size: dict[int, list[float]] = {}
    for one in cells:
        if one.ratio is not None:
            by_size.setdefault(one.bytes, []).append(one.ratio.communication)
    return {size: sorted(those)[len(those) // 2] for size, those in sorted(by_size.items())}
