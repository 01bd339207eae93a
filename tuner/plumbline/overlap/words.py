"""Classes and thresholds of overlap in sentences, in the manner of A. Denis and F. Trahay, "MPI
Overlap: Benchmark and Analysis", ICPP 2016, section V.A. No sentence without data."""

from __future__ import annotations

from collections.abc import Sequence

from plumbline.overlap.classes import Classes, ClassifiedBench, Kind, Stretch
from plumbline.overlap.thresholds import Thresholds

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


def of_library(library_classes: Classes, threshold: Thresholds | None) -> list[str]:
    """All that is known, a line a sentence."""
    return of_classes(library_classes) + ([] if threshold is None else of_threshold(threshold))


def of_classes(library_classes: Classes) -> list[str]:
    """The class of the library, where both sides were measured, then a sentence a benchmark."""
    lines = []
    if library_classes.library != "not told":
        where = (
            f" (up to {size(library_classes.until)})" if library_classes.until is not None else ""
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
        return f"at {size(stretch.bytes_from)} ({ratios})"
    return f"from {size(stretch.bytes_from)} to {size(stretch.bytes_to)} ({ratios})"


def _sizes(some: Sequence[int], every: Sequence[int]) -> str:
    """Return those that are neighbours among `every` as from … to."""
    runs: list[list[int]] = []
    for phrase in some:
        if runs and every.index(phrase) == every.index(runs[-1][-1]) + 1:
            runs[-1].append(phrase)
        else:
            runs.append([phrase])
    return ", ".join(
        f"at {size(run[0])}" if len(run) == 1 else f"from {size(run[0])} to {size(run[-1])}"
        for run in runs
    )


def of_threshold(thresholds: Thresholds) -> list[str]:
    """Return where the rendezvous threshold lies."""
    if thresholds.eager is None and thresholds.waits is None:
        lines = ["Rendezvous threshold: cannot be told, messages take too long."]
    elif thresholds.waits is None:
        lines = [f"Eager at all sizes looked at, to {size(thresholds.eager)}."]
    elif thresholds.eager is None:
        lines = [f"Rendezvous at all sizes looked at, from {size(thresholds.waits)} on."]
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


def size(number: int | None) -> str:
    if number is None:
        return ""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number} bytes"
