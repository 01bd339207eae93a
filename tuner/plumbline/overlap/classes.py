"""The size at which eager sending ends, found by blocking sends to a receiver that is late
(probes/overlap/ late.c): one that returns before the receive is posted was eager. First over the
sizes in steps of √2, then closer and closer, to the byte."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import OverlapCell, Plan
from plumbline.measure.launches import LaunchStore, Series
from plumbline.overlap import benches, metric
from plumbline.overlap.benches import axes
from plumbline.overlap.suite import OverlapResult
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
    `place`: where ranks are (benches.py)."""

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


Kind = Literal["overlaps", "partly", "serial", "slower"]
BenchClass = Literal[
    "overlaps", "partly", "small only", "large only", "none", "slower than serial", "not told"
]
LibraryClass = Literal[
    "overlaps by itself",
    "eager only",
    "sender only",
    "receiver only",
    "partly",
    "none",
    "slower than serial",
    "not told",
]

# Where kinds end, as ratios. A library whose overlap is known is measured to within 0.1
# (docs/design/overlap.md). 1 to within 0.2 is one after the other, that and three times the error
# is slower. Messages of 1 us or 2 that overlap have ratios up to 0.35: what MPI_Isend itself takes.
_RANGES: dict[Kind, tuple[float, float]] = {
    "overlaps": (float("-inf"), 0.4),
    "partly": (0.4, 0.8),
    "serial": (0.8, 1.3),
    "slower": (1.3, float("inf")),
}
_NOT: tuple[Kind, ...] = ("serial", "slower")
# Work over communication. Where one is much shorter than the other, the ratio divides by little.
_LEAST_WORK, _MOST_WORK = 0.5, 4.0
# Communication alone over that of the size's best cell, which has the same message: beyond that
# others had the cores.
_SLOWED = 1.5
_WIDEST = 0.5  # interval that still says something: half of what lies between perfect and none
# What a change of kind along the sizes must be worth, summed over sizes as the distance of ratios
# from the kind they are given. One size counts for two changes at most, so that a stray among
# others never makes a stretch of its own.
_CHANGE = 0.3


class SizeVerdict(msgspec.Struct, frozen=True):
    """Medians over the `cells` of a size that say something; `kind` None: none does."""

    bytes: int
    kind: Kind | None
    ratio: float | None
    low: float | None
    high: float | None
    cells: int


class Stretch(msgspec.Struct, frozen=True):
    """Sizes of one kind, and the least and the largest ratio among them."""

    kind: Kind
    bytes_from: int
    bytes_to: int
    least: float
    most: float
    sizes: int


class ClassifiedBench(msgspec.Struct, frozen=True):
    """`until`: the last size at which messages overlap, of the class `small only`."""

    bench: str
    found: BenchClass
    until: int | None
    stretches: list[Stretch]
    verdicts: list[SizeVerdict]


class Classes(msgspec.Struct, frozen=True):
    """`until`: of the class `eager only`, the last size at which the sender overlaps."""

    library: LibraryClass
    until: int | None
    benches: list[ClassifiedBench]

    def bench(self, name: str) -> ClassifiedBench | None:
        return next((bench for bench in self.benches if bench.bench == name), None)


def of(cells: Sequence[OverlapResult]) -> Classes:
    """Return the classes of the cells that were measured. The benchmark `load` has no class: it has
    no amount of work."""
    cells = [cell for cell in cells if cell.measured]
    names = [name for name in dict.fromkeys(cell.bench for cell in cells) if name != benches.LOAD]
    bench_classes = [
        of_bench(name, [cell for cell in cells if cell.bench == name]) for name in names
    ]
    library, until = _library({bench.bench: bench for bench in bench_classes})
    return Classes(library, until, bench_classes)


def of_bench(name: str, cells: Sequence[OverlapResult]) -> ClassifiedBench:
    verdicts = [
        _verdict(size, [cell for cell in cells if cell.bytes == size])
        for size in sorted({cell.bytes for cell in cells})
    ]
    clear_ratios = [
        (verdict.bytes, verdict.ratio) for verdict in verdicts if verdict.ratio is not None
    ]
    stretches = _stretches(clear_ratios)
    # A single size at an end may be a stray.
    firm = [stretch for stretch in stretches if stretch.sizes > 1] or stretches
    bench_class = _bench_class(firm)
    return ClassifiedBench(name, bench_class, _until(bench_class, firm), stretches, verdicts)


def _verdict(size: int, cells: Sequence[OverlapResult]) -> SizeVerdict:
    ratios = [cell.ratio for cell in cells if cell.ratio is not None and not cell.ratio.noisy]
    clear_ratios = [
        ratio
        for ratio in ratios
        if ratio.communication <= _SLOWED * min(ratio.communication for ratio in ratios)
        and _LEAST_WORK <= ratio.computation / ratio.communication <= _MOST_WORK
        and ratio.high - ratio.low <= _WIDEST
    ]
    if not clear_ratios:
        return SizeVerdict(size, None, None, None, None, 0)
    value, low, high = (
        statistics.median(getattr(ratio, name) for ratio in clear_ratios)
        for name in ("value", "low", "high")
    )
    return SizeVerdict(size, kind_of(value), value, low, high, len(clear_ratios))


def kind_of(ratio: float) -> Kind:
    return next(kind for kind, (_, end) in _RANGES.items() if ratio < end)


def _distance(ratio: float, kind: Kind) -> float:
    begin, end = _RANGES[kind]
    return min(max(begin - ratio, ratio - end, 0.0), 2 * _CHANGE)


def _stretches(clear_ratios: Sequence[tuple[int, float]]) -> list[Stretch]:
    """The kinds by size whose distances and changes are the least in all (dynamic programming over
    sizes and kinds, exact)."""
    best: dict[Kind, tuple[float, list[Kind]]] = {kind: (0.0, []) for kind in _RANGES}
    for number, (_, ratio) in enumerate(clear_ratios):
        step: dict[Kind, tuple[float, list[Kind]]] = {}
        for kind in _RANGES:
            cost, path = min(
                (
                    (cost + (_CHANGE if number and before != kind else 0.0), path)
                    for before, (cost, path) in best.items()
                ),
                key=lambda way: (way[0], _changes(way[1])),
            )
            step[kind] = (cost + _distance(ratio, kind), [*path, kind])
        best = step
    kinds = min(best.values(), key=lambda way: (way[0], _changes(way[1])))[1]
    return _joined(clear_ratios, kinds)


def _changes(kinds: Sequence[Kind]) -> int:
    return sum(kind != right for kind, right in itertools.pairwise(kinds))


def _joined(clear_ratios: Sequence[tuple[int, float]], kinds: Sequence[Kind]) -> list[Stretch]:
    stretches = []
    for kind, group in itertools.groupby(
        zip(kinds, clear_ratios, strict=True), key=lambda member: member[0]
    ):
        sizes, ratios = zip(*(member for _, member in group), strict=True)
        stretches.append(Stretch(kind, sizes[0], sizes[-1], min(ratios), max(ratios), len(sizes)))
    return stretches


def _bench_class(stretches: Sequence[Stretch]) -> BenchClass:
    """Return by what becomes of large messages, and whether small ones fare otherwise."""
    if not stretches:
        return "not told"
    slower = sum(stretch.sizes for stretch in stretches if stretch.kind == "slower")
    if 2 * slower > sum(stretch.sizes for stretch in stretches):
        return "slower than serial"
    kinds = [stretch.kind for stretch in stretches]
    if kinds[-1] == "overlaps":
        return "large only" if kinds[0] in _NOT else "overlaps"
    if kinds[-1] == "partly":
        return "partly"
    return "small only" if set(kinds) - set(_NOT) else "none"


def _until(bench_class: BenchClass, stretches: Sequence[Stretch]) -> int | None:
    """The last size at which messages overlap, be it in part."""
    if bench_class != "small only":
        return None
    return [stretch.bytes_to for stretch in stretches if stretch.kind not in _NOT][-1]


def _library(bench_by_name: dict[str, ClassifiedBench]) -> tuple[LibraryClass, int | None]:
    """Return the class of the library from both sides. What goes on beside large messages
    counts."""
    sides = [bench_by_name.get("sender"), bench_by_name.get("receiver")]
    if any(side is None or side.found == "not told" for side in sides):
        return "not told", None
    sender, receiver = (side for side in sides if side is not None)
    both = bench_by_name.get("both")
    if any(side is not None and side.found == "slower than serial" for side in (*sides, both)):
        return "slower than serial", None
    goes = {"overlaps", "large only"}
    if sender.found in goes and receiver.found in goes:
        return "overlaps by itself", None
    if sender.found in goes:
        return "sender only", None
    if receiver.found in goes:
        return "receiver only", None
    if "partly" in (sender.found, receiver.found):
        return "partly", None
    if sender.found == "small only":
        return "eager only", sender.until
    return "none", None


# Classes and thresholds of overlap in sentences, in the manner of A. Denis and F. Trahay, "MPI
# Overlap: Benchmark and Analysis", ICPP 2016, section V.A. No sentence without data.

_LIBRARY = {
    "overlaps by itself": "messages go on beside the work of both sides",
    "eager only": "small messages go on beside the sender's work, large ones on neither side",
    "sender only": "large messages go on beside the sender's work, not beside the receiver's",
    "receiver only": "large messages go on beside the receiver's work, not beside the sender's",
    "partly": "large messages go on in part beside the work of a side, on no side wholly",
    "none": "messages go on beside the work of neither side",
    "slower than serial": "messages beside work take longer than one after the other",
}
_SUBJECTS = {
    "sender": "Sender",
    "receiver": "Receiver",
    "both": "Both sides at once",
    "vector": "Data that lie apart, vector",
    "structure": "Data that lie apart, structure",
    "overhead": "The sender's processor",
}
_KINDS: dict[Kind, str] = {
    "overlaps": "overlaps",
    "partly": "overlaps in part",
    "serial": "does not",
    "slower": "is slower than one after the other",
}
# What the sender's processor spends is not overlap: it is free, or busy with the message.
_OVERHEAD: dict[Kind, str] = {
    "overlaps": "is free",
    "partly": "is busy with the message in part",
    "serial": "is busy with it",
    "slower": "is busy for longer than a blocking send takes",
}


def library_words(library_classes: Classes, threshold: Thresholds | None) -> list[str]:
    """All that is known, a line a sentence."""
    return class_words(library_classes) + ([] if threshold is None else threshold_words(threshold))


def class_words(library_classes: Classes) -> list[str]:
    """The class of the library, where both sides were measured, then a sentence a benchmark."""
    lines = []
    if library_classes.library != "not told":
        where = (
            f" (up to {_size_words(library_classes.until)})"
            if library_classes.until is not None
            else ""
        )
        lines.append(
            f"{library_classes.library.capitalize()}: {_LIBRARY[library_classes.library]}{where}."
        )
    return lines + [_sentence(bench) for bench in library_classes.benches if bench.verdicts]


def _sentence(bench: ClassifiedBench) -> str:
    subject = _SUBJECTS.get(bench.bench, bench.bench)
    kinds = _OVERHEAD if bench.bench == "overhead" else _KINDS
    parts = [f"{kinds[stretch.kind]} {_where(stretch)}" for stretch in bench.stretches]
    untold = [verdict.bytes for verdict in bench.verdicts if verdict.kind is None]
    if untold:
        parts.append(
            f"cannot be told {_sizes(untold, [verdict.bytes for verdict in bench.verdicts])}"
        )
    return f"{subject}: {'; '.join(parts)}."


def _where(stretch: Stretch) -> str:
    least, most = f"{stretch.least:.2f}", f"{stretch.most:.2f}"
    ratios = f"ratio {least}" if least == most else f"ratios {least} to {most}"
    if stretch.bytes_from == stretch.bytes_to:
        return f"at {_size_words(stretch.bytes_from)} ({ratios})"
    return f"from {_size_words(stretch.bytes_from)} to {_size_words(stretch.bytes_to)} ({ratios})"


def _sizes(some: Sequence[int], every: Sequence[int]) -> str:
    """Return the sizes in words; neighbours among `every` are written as from … to."""
    runs: list[list[int]] = []
    for phrase in some:
        if runs and every.index(phrase) == every.index(runs[-1][-1]) + 1:
            runs[-1].append(phrase)
        else:
            runs.append([phrase])
    return ", ".join(
        f"at {_size_words(run[0])}"
        if len(run) == 1
        else f"from {_size_words(run[0])} to {_size_words(run[-1])}"
        for run in runs
    )


def threshold_words(thresholds: Thresholds) -> list[str]:
    """Return where the rendezvous threshold lies."""
    if thresholds.eager is None and thresholds.waits is None:
        lines = ["Rendezvous threshold: cannot be told, messages take too long."]
    elif thresholds.waits is None:
        lines = [f"Eager at all sizes looked at, to {_size_words(thresholds.eager)}."]
    elif thresholds.eager is None:
        lines = [f"Rendezvous at all sizes looked at, from {_size_words(thresholds.waits)} on."]
    else:
        lines = [
            f"Eager up to {thresholds.eager} bytes, rendezvous from {thresholds.waits} bytes on."
        ]
    if thresholds.strays:
        lines.append(
            f"{thresholds.strays} of {thresholds.sizes} sizes did otherwise: others use the cores; "
            "ask again with --new."
        )
    return lines


def _size_words(number: int | None) -> str:
    if number is None:
        return ""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number} bytes"
