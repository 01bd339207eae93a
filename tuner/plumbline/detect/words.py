"""Findings as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from plumbline.detect.findings import HandMade, Site

_HEADS = {
    "collective": "made by hand",
    "use": "called where something else would do",
    "neighbourhood": "exchanges with the same neighbours",
    "incomplete": "nearly a collective",
}


def lines(found: Sequence[HandMade]) -> list[str]:
    """All of them, under a head for each category."""
    listed: list[str] = []
    for category, head in _HEADS.items():
        members = [finding for finding in found if finding.category == category]
        if members:
            listed += ([""] if listed else []) + [f"{head}:"]
            for number, finding in enumerate(members, 1):
                listed += of(finding, number)
    return listed or ["no collective is made by hand"]


def of(finding: HandMade, number: int) -> list[str]:
    """A finding: what it is, then where, then what to mind."""
    head = f"{number}. {what(finding)}: {_times(finding.instances)}, {_seconds(finding.seconds)}"
    told = [head]
    told += [f"   {site.role} at {site.place}{_callers(site)}" for site in finding.sites]
    if finding.split:
        told.append(f"   a communicator of its own: {finding.split}")
    told += [f"   {remark}" for remark in finding.remarks]
    return told


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


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _callers(site: Site) -> str:
    return f", from {site.stack[1]}" if len(site.stack) > 1 else ""
