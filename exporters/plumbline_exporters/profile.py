"""The profile of libplumbline.so: which variant stands in for which call (docs/profile.md)."""

from __future__ import annotations

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Library, Winner
from plumbline_exporters import quoting
from plumbline_exporters.bundle import (
    Bundle,
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
