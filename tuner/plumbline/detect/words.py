"""Findings as lines of text, and the source code that would replace them as a sketch."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from plumbline.detect.findings import HandMade, Saved, Site, SizeSaving

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
        split = _in_fortran(finding.split) if is_fortran(finding) else finding.split
        text.append(f"   a communicator of its own: {split}")
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


# A finding's replacement as it would look in the source: a sketch for a person, in the language of
# the file that it belongs to. Nothing is replaced by itself.

_FORTRAN = (".f", ".for", ".ftn", ".fpp", ".f77", ".f90", ".f95", ".f03", ".f08", ".f18")
_FORTRAN_LINE = 100  # characters; the standard has 132 of free form

# The arguments of the call by function; the caller replaces the words in capitals.
_ARGUMENTS = {
    "MPI_Bcast": "BUFFER, COUNT, TYPE, {root}, {comm}",
    "MPI_Gather": "BLOCK, COUNT, TYPE, ALL_BLOCKS, COUNT, TYPE, {root}, {comm}",
    "MPI_Gatherv": "BLOCK, COUNT, TYPE, ALL_BLOCKS, COUNTS, PLACES, TYPE, {root}, {comm}",
    "MPI_Scatter": "ALL_BLOCKS, COUNT, TYPE, BLOCK, COUNT, TYPE, {root}, {comm}",
    "MPI_Scatterv": "ALL_BLOCKS, COUNTS, PLACES, TYPE, BLOCK, COUNT, TYPE, {root}, {comm}",
    "MPI_Allgather": "{in_place}, COUNT, TYPE, ALL_BLOCKS, COUNT, TYPE, {comm}",
    "MPI_Allgatherv": "{in_place}, COUNT, TYPE, ALL_BLOCKS, COUNTS, PLACES, TYPE, {comm}",
    "MPI_Alltoall": "BLOCKS, COUNT, TYPE, ALL_BLOCKS, COUNT, TYPE, {comm}",
    "MPI_Alltoallv": "BLOCKS, COUNTS, PLACES, TYPE, "
    "ALL_BLOCKS, ITS_COUNTS, ITS_PLACES, TYPE, {comm}",
    "MPI_Reduce": "TERM, RESULT, COUNT, TYPE, {operation}, {root}, {comm}",
    "MPI_Allreduce": "{in_place}, RESULT, COUNT, TYPE, {operation}, {comm}",
    "MPI_Reduce_scatter_block": "TERMS, BLOCK, COUNT, TYPE, {operation}, {comm}",
    "MPI_Reduce_scatter": "TERMS, BLOCK, COUNTS, TYPE, {operation}, {comm}",
    "MPI_Scan": "{in_place}, RESULT, COUNT, TYPE, {operation}, {comm}",
    "MPI_Barrier": "{comm}",
    "MPI_Neighbor_allgather": "BLOCK, COUNT, TYPE, ALL_BLOCKS, COUNT, TYPE, {comm}",
    "MPI_Neighbor_alltoall": "BLOCKS, COUNT, TYPE, ALL_BLOCKS, COUNT, TYPE, {comm}",
    "MPI_Neighbor_alltoallv": "BLOCKS, COUNTS, PLACES, TYPE, "
    "ALL_BLOCKS, ITS_COUNTS, ITS_PLACES, TYPE, {comm}",
}


def patch_sketch(finding: HandMade) -> str:
    """Lines of C or Fortran; "" where there is nothing to replace."""
    arguments = _ARGUMENTS.get(finding.function)
    if arguments is None or finding.category not in ("collective", "neighbourhood"):
        return ""
    fortran = is_fortran(finding)
    comment = "!" if fortran else "//"
    lines = [f"{comment} {line}" for line in _instead_of(finding.sites)]
    neighbours = finding.category == "neighbourhood"
    comm = "graph" if neighbours else "part" if finding.split else "comm"
    if finding.split:
        lines += [f"{comment} once, before:", _call(finding.split, fortran)]
    if neighbours:
        made = (
            "MPI_Dist_graph_create_adjacent(comm, IN, SOURCES, MPI_UNWEIGHTED, OUT, TARGETS, "
            f"MPI_UNWEIGHTED, MPI_INFO_NULL, {'.false.' if fortran else 0}, &graph)"
        )
        lines += [f"{comment} once, before:", _call(made, fortran)]
    filled = arguments.format(
        root=_root(finding),
        comm=comm,
        in_place="MPI_IN_PLACE",
        operation=f"MPI_{finding.operation}" if finding.operation else "OPERATOR",
    )
    return "\n".join([*lines, _call(f"{finding.function}({filled})", fortran)]) + "\n"


def _instead_of(sites: tuple[Site, ...]) -> list[str]:
    return [
        f"instead of the {site.role} at {site.place}, on {_ranks(site.ranks)}" for site in sites
    ]


def _ranks(ranks: tuple[int, ...]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and list(ranks) == list(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]}-{ranks[-1]}"
    listed = ", ".join(str(rank) for rank in ranks[:8])
    return f"ranks {listed}{' …' if len(ranks) > 8 else ''}"


def _root(finding: HandMade) -> str:
    """Return where all instances have one root it is named; on rows and columns as a rank of the
    part."""
    if finding.split or len(finding.groups) > 1 or len(finding.roots) != 1:
        return "ROOT"
    return str(next(iter(finding.roots)))


def is_fortran(finding: HandMade) -> bool:
    """Return by the name of the file that its first call site is in."""
    for site in finding.sites:
        file = site.place.partition(" ")[0].rpartition(":")[0]
        if file:
            return file.lower().endswith(_FORTRAN)
    return False


def _call(text: str, fortran: bool) -> str:
    """Return a statement from a call in C."""
    if not fortran:
        return f"{text};"
    return " &\n    ".join(textwrap.wrap(_in_fortran(text), _FORTRAN_LINE))


def _in_fortran(text: str) -> str:
    """Return the call in Fortran. The expressions are those that instances.split makes."""
    name, _, rest = text.partition("(")
    arguments = []
    for argument in rest.rpartition(")")[0].split(", "):
        value = re.sub(r"(\w+) % (\w+)", r"mod(\1, \2)", argument.removeprefix("&"))
        condition, is_choice, choices = value.partition(" ? ")
        if is_choice:
            condition = condition.replace("||", ".or.").replace("&&", ".and.")
            value = f"merge({choices.replace(' : ', ', ')}, {condition})"
        arguments.append(value)
    return f"call {name}({', '.join([*arguments, 'ierror'])})"
