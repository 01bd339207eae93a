"""Findings as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from plumbline.detect.findings import HandMade, Site
from plumbline.detect.savings import Saved, SizeSaving

_HEADS = {
    "collective": "made by hand",
    "use": "called where something else would do",
    "neighbourhood": "exchanges with the same neighbours",
    "incomplete": "nearly a collective",
}


def lines(findings: Sequence[HandMade]) -> list[str]:
    """All of them, under a head for each category."""
    listed: list[str] = []
    for head, members in by_category(findings):
        listed += ([""] if listed else []) + [f"{head}:"]
        for number, finding in enumerate(members, 1):
            listed += of(finding, number)
    return listed or ["no collective is made by hand"]


def by_category(findings: Sequence[HandMade]) -> list[tuple[str, list[HandMade]]]:
    """The head of each category that has findings, and these."""
    every = [
        (head, [finding for finding in findings if finding.category == category])
        for category, head in _HEADS.items()
    ]
    return [(head, members) for head, members in every if members]


def of(finding: HandMade, number: int) -> list[str]:
    """A finding: what it is, then where, then what to mind."""
    head = f"{number}. {what(finding)}: {_times(finding.instances)}, {seconds(finding.seconds)}"
    text = [head]
    text += [f"   {site.role} at {site.place}{_callers(site)}" for site in finding.sites]
    text += [f"   {line}" for line in _saving(finding)]
    if finding.split:
        text.append(f"   a communicator of its own: {finding.split}")
    text += [f"   {remark}" for remark in finding.remarks]
    return text


def _saving(finding: HandMade) -> list[str]:
    saving = finding.saving
    text = [f"without waiting it takes {seconds(finding.work_seconds)} a run"]
    if saving is None:
        return text if finding.category == "use" else []
    if saving.replayed_seconds is not None:
        text[0] += f", replayed {seconds(saving.replayed_seconds)}"
    text.append(_saved(saving.default, "MPI's own collective"))
    if saving.tuned is not None:
        names = dict.fromkeys(size.configuration for size in saving.sizes if size.configuration)
        text.append(_saved(saving.tuned, " or ".join(names)))
    if saving.replayed_seconds is not None:
        text += [_size(size) for size in saving.sizes]
    else:
        text[-1] += f" (by campaign {saving.campaign})"
    if saving.shown is not None and round(saving.shown, 2) < 1:
        text.append(f"{saving.shown:.0%} of what is saved in the calls shows in the run at least")
    if saving.share < 1:
        text.append(f"of {1 - saving.share:.0%} of its times nothing is known")
    return text


def _saved(saved: Saved, by: str) -> str:
    if saved.low_seconds > 0:
        low, high = seconds(saved.low_seconds), seconds(saved.high_seconds)
        return f"{by} saves {seconds(saved.seconds)} [{low}, {high}] a run"
    if saved.high_seconds <= 0:
        return f"{by} saves nothing: it takes {seconds(-saved.seconds)} longer a run"
    low, middle, high = map(_signed, (saved.low_seconds, saved.seconds, saved.high_seconds))
    return f"{by} saves no time that could be told from 0: {middle} [{low}, {high}] a run"


def _size(size: SizeSaving) -> str:
    text = f"{size.instances} of {size.bytes} bytes: "
    if size.by_hand is not None:
        text += f"replayed {seconds(size.by_hand.seconds)}, "
    text += f"MPI's own {seconds(size.default.seconds)}"
    return text + (f", tuned {seconds(size.tuned.seconds)}" if size.tuned else "")


def what(finding: HandMade) -> str:
    """The function, with its operator, size, group and root."""
    name = finding.function
    if finding.operation:
        name += f" ({finding.operation}{'' if finding.evidence == 'proved' else ', presumably'})"
    parts = [name]
    if finding.bytes or finding.bytes_most:
        parts.append(_bytes(finding))
    parts.append(_where(finding))
    if finding.ambiguous_roots:
        parts.append(f"root {' or '.join(map(str, finding.ambiguous_roots))}")
    elif len(finding.roots) == 1:
        parts.append(f"root {next(iter(finding.roots))}")
    elif finding.roots:
        parts.append(f"{len(finding.roots)} roots")
    if finding.missing:
        missed = ", ".join(map(str, finding.missing))
        parts.append(f"{finding.coverage:.0%} of the ranks (not {missed})")
    return ", ".join(parts)


def _where(finding: HandMade) -> str:
    if len(finding.groups) > 1:
        return f"{len(finding.groups)} groups of {finding.group_size} ranks"
    return f"{finding.group_size} ranks ({finding.groups[0]})"


def _bytes(finding: HandMade) -> str:
    if finding.bytes_least == finding.bytes_most:
        return f"{finding.bytes} bytes"
    return f"{finding.bytes_least} to {finding.bytes_most} bytes"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def seconds(value: float) -> str:
    """`13.8 ms`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def _signed(value: float) -> str:
    return f"-{seconds(-value)}" if value < 0 else seconds(value)


def _callers(site: Site) -> str:
    return f", from {site.stack[1]}" if len(site.stack) > 1 else ""
