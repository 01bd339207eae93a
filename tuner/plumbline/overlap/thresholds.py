"""The size at which eager sending ends, found by blocking sends to a receiver that is late
(probes/overlap/ late.c): one that returns before the receive is posted was eager. First over the
sizes in steps of √2, then closer and closer, to the byte."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import OverlapCell, Plan
from plumbline.measure.launches import LaunchStore, Series
from plumbline.overlap import metric
from plumbline.overlap.benches import axes
from plumbline.settings import identity
from plumbline.settings.toolchain import Toolchain
from plumbline.system.placement import Placement
from plumbline_db import campaigns, runs, table_samples
from plumbline_db.connection import Database
from plumbline_db.probe_records import Overlap
from plumbline_db.records import Campaign, Suite

_LATE_NS, _LATE_NS_PER_BYTE = 500_000, 2  # several times what a message takes
_ASK_NS = 10_000
_CLOSER = 24  # sizes between the last eager one and the first other, in a launch
USUAL_LAUNCHES = 4
_MOST_LAUNCHES = 8  # 24 sizes a launch: 5 are enough for any two numbers up to 4 Mi


class ThresholdSettings(msgspec.Struct, frozen=True):
    """`knobs` of the library, in force in all launches; `triples` of each size in a launch;
    `place`: where ranks are (place.py)."""

    nprocs: int = 2
    knobs: Configuration = Configuration()
    triples: int = 15
    seed: int = 1
    place: tuple[str, ...] = ()
    command: str = "overlap thresholds"


class Thresholds(msgspec.Struct, frozen=True):
    """Sends of up to `eager` bytes return before the receive is posted, while the receiver asks the
    library now and then; from `waits` on they do not. None: not so at any size looked at. `strays`:
    sizes of the first launch, of `sizes`, that did otherwise than this says."""

    eager: int | None
    waits: int | None
    strays: int
    sizes: int


_NOTHING = Thresholds(None, None, 0, 0)


def begin(
    db: Database,
    toolchain: Toolchain,
    settings: ThresholdSettings,
    placement: Placement,
    *,
    new: bool,
) -> Campaign:
    """The row that the launches of these settings belong to."""
    text = msgspec.json.encode(settings).decode()
    return identity.enter(db, toolchain, identity.Identity(text, placement, "et"), new=new)


def first(settings: ThresholdSettings) -> Plan:
    """The plan of the first launch."""
    sizes, _ = axes(quick=False)
    return _plan(settings, sizes)


def _plan(settings: ThresholdSettings, sizes: Sequence[int]) -> Plan:
    cells = tuple(
        OverlapCell("late", size, late_ns(size), "registers", _ASK_NS, settings.triples)
        for size in sizes
    )
    return Plan("check", settings.seed, (), overlaps=cells, blocks=1)


def late_ns(size: int) -> int:
    """Nanoseconds by which the receiver is late."""
    return max(_LATE_NS, _LATE_NS_PER_BYTE * size)


def run(store: LaunchStore, campaign: Campaign, settings: ThresholdSettings) -> Thresholds:
    """Launches what is missing. Raises PlumblineError when launches fail."""
    narrowest, plan = _NOTHING, first(settings)
    environment = store.starter.family.in_environment(settings.knobs.as_dict())
    for number in range(_MOST_LAUNCHES):
        store.progress.step(f"overlap thresholds: {len(plan.overlaps)} sizes")
        Series(store, _suite(number), plan, environment).advance()
        narrowest = narrowed(narrowest, _early(store.db, campaign, number))
        closer = between(narrowest)
        if not closer:
            break
        plan = _plan(settings, closer)
    identity.finish(store.db, campaign)
    return narrowest


def stored(
    db: Database, campaign: Campaign, knobs: Configuration, place: Sequence[str]
) -> Thresholds | None:
    """Return what was found last for the machine and library of another row, with these knobs,
    between ranks in the same places."""
    place_asked = (campaign.machine, campaign.library_fingerprint, campaign.nprocs, campaign.nodes)
    for row in reversed(campaigns.every(db)):
        same = (row.machine, row.library_fingerprint, row.nprocs, row.nodes) == place_asked
        if (
            same
            and not row.imported_from
            and row.state == "finished"
            and _how(row) == (knobs, tuple(place))
        ):
            return _read(db, row)
    return None


def _how(row: Campaign) -> tuple[Configuration, tuple[str, ...]] | None:
    """None: a row of another command."""
    try:
        settings = msgspec.json.decode(row.settings, type=ThresholdSettings)
    except msgspec.DecodeError:
        return None
    if settings.command != ThresholdSettings().command:
        return None
    return settings.knobs, settings.place


def _read(db: Database, campaign: Campaign) -> Thresholds:
    narrowest = _NOTHING
    for number in range(_MOST_LAUNCHES):
        narrowest = narrowed(narrowest, _early(db, campaign, number))
    return narrowest


def _suite(number: int) -> Suite:
    return Suite("thresholds", look=number + 1)


def _early(db: Database, campaign: Campaign, number: int) -> dict[int, bool]:
    """Return whether sends return early, by size; nothing where there was no such launch."""
    launched = runs.listing(db, campaign.id, [_suite(number).name])
    done = [run.id for run in launched if run.finished]
    records = table_samples.of_launch(db, done[-1]) if done else []
    metric.require_data(records)
    cells = sorted(
        (record for record in records if isinstance(record, Overlap)), key=lambda cell: cell.bytes
    )
    early_by_size = {cell.bytes: returns_early(cell) for cell in cells}
    return {size: early for size, early in early_by_size.items() if early is not None}


def returns_early(cell: Overlap) -> bool | None:
    """Return whether a send ever returned in less than half the time that the receiver was late by.
    None where one takes as long with a receiver in time. Once is enough: where others take the
    cores, an eager send too waits for the receiver to have one; nothing makes a send that waits
    return."""
    half = min(cell.computation_ns) / 2
    if min(cell.communication_ns) >= half:
        return None
    return min(cell.both_ns) < half


def split(early: dict[int, bool]) -> Thresholds:
    """The size up to which sends are early that fits most sizes; the smallest of several."""
    sizes = sorted(early)
    wrong = [
        sum(not early[size] for size in sizes[:at]) + sum(early[size] for size in sizes[at:])
        for at in range(len(sizes) + 1)
    ]
    at = wrong.index(min(wrong))
    return Thresholds(
        sizes[at - 1] if at else None,
        sizes[at] if at < len(sizes) else None,
        min(wrong),
        len(sizes),
    )


def narrowed(before: Thresholds, early: dict[int, bool]) -> Thresholds:
    """Return what is known after a launch of sizes in between."""
    now = split(early)
    if before == _NOTHING:
        return now
    return msgspec.structs.replace(
        before,
        eager=before.eager if now.eager is None else now.eager,
        waits=before.waits if now.waits is None else now.waits,
    )


def between(step: Thresholds) -> list[int]:
    """Sizes to look at next, evenly between; none where nothing lies there."""
    if step.eager is None or step.waits is None:
        return []
    gap = step.waits - step.eager
    count = min(_CLOSER, gap - 1)
    return [step.eager + gap * number // (count + 1) for number in range(1, count + 1)]
