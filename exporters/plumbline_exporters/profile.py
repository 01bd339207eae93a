"""The profile of libplumbline.so: which variant stands in for which call (docs/profile.md)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Library, Winner
from plumbline_exporters import quoting
from plumbline_exporters.bundle import (
    Bundle,
    FileDecision,
    MpiCall,
    conditions,
    evidence,
    groups,
    heading,
    last_volume,
    sizes,
    span,
)
from plumbline_exporters.registry import exporter

FILE_NAME = "plumbline.profile"
_BLOCKS = frozenset(
    {
        "MPI_Allgather",
        "MPI_Alltoall",
        "MPI_Gather",
        "MPI_Reduce_scatter_block",
        "MPI_Scatter",
    }
)
_NO_VOLUME = frozenset({"MPI_Alltoallv", "MPI_Gatherv", "MPI_Scatterv"})


@exporter("profile", "profile for libplumbline.so: variants in place of the library's functions")
def files(bundle: Bundle) -> dict[str, str]:
    chosen = bundle.variants
    if not chosen:
        return {}
    lines = ["plumbline-profile 1"]
    lines += heading(bundle, "Profile for the preload library libplumbline.so.")
    lines.append(f'library version="{_version(bundle.library)}"')
    for ppn in sorted({winner.ppn for winner in chosen}):
        for group in groups([winner for winner in chosen if winner.ppn == ppn]).values():
            starts = [winner.bytes_from for winner in group[1:]]
            for winner, following in zip(group, [*starts, None], strict=True):
                lines += [quoting.comment(evidence(winner))] if evidence(winner) else []
                lines.append(_rule(winner, following))
    return {FILE_NAME: "\n".join(lines) + "\n"}


def _rule(winner: Winner, following: int | None) -> str:
    """Return a rule for the ranks, nodes and sizes that were measured, and for all operations; for
    all datatypes, or the class that the winner is for."""
    nprocs, last = winner.nprocs, _last(winner, following)
    if winner.function in _NO_VOLUME and (winner.bytes_from, last) != (0, "inf"):
        raise PlumblineError(
            f"{winner.function}, {nprocs} ranks, {sizes(winner)}: not exported: not all ranks know "
            "the volume of such a call, so a variant must be the best for all sizes"
        )
    return (
        f"rule function={quoting.word(winner.function)} {_range(winner, 'nprocs')} "
        f"{_nodes(winner)} "
        f"bytes={winner.bytes_from}-{last}{_condition(winner)} "
        f"variant={quoting.word(winner.variant)}"
    )


def _condition(winner: Winner) -> str:
    return "".join(f" {quoting.word(condition)}" for condition in conditions(winner))


def _nodes(winner: Winner) -> str:
    """Return where ranks do not fill their nodes, who has fewer depends on the launcher."""
    nodes = _range(winner, "nodes")
    return nodes if winner.nprocs % winner.ppn else f"{nodes} {_range(winner, 'ppn')}"


def _range(winner: Winner, key: str) -> str:
    first, last = span(winner, key)
    return f"{key}={first}-{last}"


def _version(library: Library) -> str:
    """Return what MPI_Get_library_version of this library starts with: the part before its
    build."""
    text = library.version_string.split(",")[0].strip()
    if not text or '"' in text or not text.replace("\t", " ").isprintable():
        raise PlumblineError(f"{library.id}: cannot be named by {library.version_string!r}")
    return text


def _last(winner: Winner, following: int | None) -> str:
    """The largest volume of a rule, which is never in the next winner's range."""
    if winner.bytes_to == UNBOUNDED_BYTES:
        return "inf"
    last = last_volume(winner) if winner.function in _BLOCKS else winner.bytes_to
    return str(last if following is None else min(last, following - 1))


class _Rule(msgspec.Struct, frozen=True):
    """A rule of a profile: its ranges by key, both ends included, and its other words."""

    ranges: dict[str, tuple[int, int]]
    words: dict[str, str]

    def holds(self, **values: int) -> bool:
        return all(
            low <= values[key] <= high for key, (low, high) in self.ranges.items() if key in values
        )


def decisions(text: str, call: MpiCall) -> Iterator[FileDecision]:
    """The rules of a profile that Plumbline wrote which are for `call`; several only where they
    have different conditions. As the preload library does, a rule for another number of ranks
    stands in for a missing one where the profile has a line `nearest`."""
    rules, factor = _read(text, call.function)
    nprocs = _stand_in(rules, factor, call.nprocs)
    filled = call.nprocs // call.nodes  # ranks of the node that has the fewest
    for rule in rules:
        ends = (call.ppn, filled)
        if rule.holds(nprocs=nprocs, nodes=call.nodes, bytes=call.bytes) and all(
            rule.holds(ppn=end) for end in ends
        ):
            conditions = [f"{key}={rule.words[key]}" for key in _CONDITIONS if key in rule.words]
            yield FileDecision(FILE_NAME, rule.words["variant"], conditions=conditions)


_CONDITIONS = ("op", "type", "counts")
_RANGES = ("nprocs", "nodes", "ppn", "bytes")


def _read(text: str, function: str) -> tuple[list[_Rule], int]:
    """The rules of a function, and the factor of the line `nearest` (1: there is none)."""
    rules, factor = [], 1
    for line in text.splitlines():
        kind, *pairs = line.split() or [""]
        words = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        if kind == "nearest":
            factor = int(words["factor"])
        elif kind == "rule" and words["function"] == function:
            ranges = {key: _ends(words[key]) for key in _RANGES if key in words}
            rules.append(_Rule(ranges, words))
    return rules, factor


def _ends(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    return int(low), UNBOUNDED_BYTES if high == "inf" else int(high)


def _stand_in(rules: list[_Rule], factor: int, nprocs: int) -> int:
    """The number of ranks whose rules hold for `nprocs` ranks."""
    if any(rule.holds(nprocs=nprocs) for rule in rules):
        return nprocs
    ends = [
        low if nprocs < low else high for low, high in (rule.ranges["nprocs"] for rule in rules)
    ]
    near = [end for end in ends if max(end, nprocs) <= factor * min(end, nprocs)]
    return min(near, key=lambda end: (max(end, nprocs) / min(end, nprocs), end), default=nprocs)
