"""A finding's replacement as it would look in the source: a sketch for a person, in the language of
the file that it belongs to. Nothing is replaced by itself."""

from __future__ import annotations

from plumbline.detect.findings import HandMade, Site

_FORTRAN = (
    ".f",
    ".for",
    ".ftn",
    ".f77",
    ".f90",
    ".f95",
    ".f03",
    ".f08",
    ".F",
    ".F90",
    ".F03",
    ".F08",
)

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


def sketch(finding: HandMade) -> str:
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
            "MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph)"
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
            return file.endswith(_FORTRAN)
    return False


def _call(text: str, fortran: bool) -> str:
    if not fortran:
        return f"{text};"
    name, _, rest = text.partition("(")
    body = rest.rpartition(")")[0].replace("&", "").replace(" % ", " mod ")
    return f"call {name}({body}, ierror)"
