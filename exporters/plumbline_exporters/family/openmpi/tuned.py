"""Facts about coll/tuned of Open MPI 4.1, 5.0 and 6.0 that a rules file must respect.

Each was tried on 4.1.4, 4.1.8 and 5.0.11 (docs/design/export.md says how); those of 6.0 were read,
not tried. They stand here, apart from the search spaces, because the exporter refuses what corrupts
data whoever asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library

Version = tuple[int, ...]
JSON_SINCE = (6, 0, 0)  # rules are JSON; the older format means something else there


class Collective(msgspec.Struct, frozen=True):
    """`algorithms` in order of their ids from 1; `since_5` and `since_6` are those that 5.0 and 6.0
    add behind them; 6.0 gives `renamed_6` to some.

    `size` is what the library compares with a rule's message size: `volume` the n of
    docs/plan-and-records.md; `blocks` the same, where p equal blocks make it a multiple of p;
    `average` n // p; `none`: one rule serves all sizes. For Gather and Scatter that is so because
    ranks compute different sizes from legal arguments: a switch by size gives wrong data.
    `in_place_is_zero`: a call with MPI_IN_PLACE is looked up under size 0. `in_place_differs`: so
    that ranks may differ. (Not of Alltoall, whose algorithms are all the same one then.) `rooted`:
    each rank computes its size from arguments that need not be the same on all ranks."""

    rule_id: int
    algorithms: tuple[str, ...]
    size: Literal["volume", "blocks", "average", "none"]
    since_5: tuple[str, ...] = ()
    since_6: tuple[str, ...] = ()
    renamed_6: tuple[tuple[str, str], ...] = ()
    commutative_only: frozenset[str] = frozenset()
    in_place_is_zero: bool = False
    in_place_differs: bool = False
    rooted: bool = False

    def id_of(self, algorithm: str, library: Library) -> int | None:
        """The id of an algorithm given by name or id; None when this library has none such."""
        names = self.algorithms + (self.since_5 if version(library) >= (5, 0, 0) else ())
        if version(library) >= JSON_SINCE:
            names += self.since_6
            algorithm = {new: old for old, new in self.renamed_6}.get(algorithm, algorithm)
        if algorithm in names:
            return names.index(algorithm) + 1
        if re.fullmatch(r"[0-9]{1,9}", algorithm) and 1 <= int(algorithm) <= len(names):
            return int(algorithm)
        return None

    def name_of(self, number: int) -> str:
        return (*self.algorithms, *self.since_5, *self.since_6)[number - 1]

    @property
    def one_for_all_sizes(self) -> bool:
        """Whether a rule must hold for every size: the library knows none, or ranks may differ."""
        return self.size == "none" or self.in_place_differs

    @property
    def of_one_rank(self) -> bool:
        """Whether benchmarks count one rank's block where the library counts those of all ranks."""
        return self.size == "blocks" or self.rooted


COLLECTIVES = {
    "MPI_Allgather": Collective(
        0,
        ("linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc"),
        "blocks",
        since_5=("sparbit",),
        since_6=("direct-messaging",),
        renamed_6=(("bruck", "bruck-k-fanout"),),
        in_place_is_zero=True,
        in_place_differs=True,
    ),
    "MPI_Allgatherv": Collective(
        1, ("default", "bruck", "ring", "neighbor", "two_proc"), "average", since_5=("sparbit",)
    ),
    "MPI_Allreduce": Collective(
        2,
        (
            "basic_linear",
            "nonoverlapping",
            "recursive_doubling",
            "ring",
            "segmented_ring",
            "rabenseifner",
        ),
        "volume",
        since_6=("allgather_reduce",),
        commutative_only=frozenset({"ring", "segmented_ring"}),
    ),
    "MPI_Alltoall": Collective(
        3,
        ("linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"),
        "blocks",
        in_place_is_zero=True,
    ),
    "MPI_Alltoallv": Collective(4, ("basic_linear", "pairwise"), "none"),
    "MPI_Barrier": Collective(
        6, ("linear", "double_ring", "recursive_doubling", "bruck", "two_proc", "tree"), "none"
    ),
    "MPI_Bcast": Collective(
        7,
        (
            "basic_linear",
            "chain",
            "pipeline",
            "split_binary_tree",
            "binary_tree",
            "binomial",
            "knomial",
            "scatter_allgather",
            "scatter_allgather_ring",
        ),
        "volume",
    ),
    "MPI_Exscan": Collective(8, ("linear", "recursive_doubling"), "none"),
    "MPI_Gather": Collective(9, ("basic_linear", "binomial", "linear_sync"), "none", rooted=True),
    "MPI_Reduce": Collective(
        11,
        ("linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner"),
        "volume",
        since_6=("knomial",),
        commutative_only=frozenset({"chain", "pipeline", "binary", "binomial", "knomial"}),
    ),
    "MPI_Reduce_scatter": Collective(
        12,
        ("non-overlapping", "recursive_halving", "ring", "butterfly"),
        "volume",
        commutative_only=frozenset({"recursive_halving", "ring"}),
    ),
    "MPI_Reduce_scatter_block": Collective(
        13, ("basic_linear", "recursive_doubling", "recursive_halving", "butterfly"), "blocks"
    ),
    "MPI_Scan": Collective(14, ("linear", "recursive_doubling"), "none"),
    "MPI_Scatter": Collective(15, ("basic_linear", "binomial", "linear_nb"), "none", rooted=True),
}

# Algorithms of Gather whose messages depend on the segment size on all ranks.
SPLITS_FIRST = ("linear_sync",)
# The size compared is that of one element times the ranks; of Alltoallv and Barrier it is 0.
SIZE_OF_AN_ELEMENT = ("MPI_Exscan", "MPI_Scan")


def names(function: str, versions: Sequence[Version]) -> tuple[str, ...]:
    """The algorithms that one of these versions has, in order of their ids from 1, by the names
    they have before 6.0."""
    collective = COLLECTIVES[function]
    found = collective.algorithms
    for since, added in (((5, 0, 0), collective.since_5), (JSON_SINCE, collective.since_6)):
        if any(version >= since for version in versions):
            found += added
    return found


def name_in(function: str, number: int, versions: Sequence[Version]) -> str:
    """The name of an algorithm in one of these versions; empty where none has it."""
    found = names(function, versions)
    return found[number - 1] if 1 <= number <= len(found) else ""


def version(library: Library) -> tuple[int, int, int]:
    """(4, 1, 4); PlumblineError when the library is not one whose rules are known."""
    match = re.match(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})", library.version)
    if library.family != "openmpi" or match is None:
        raise PlumblineError(f"{library.id} is not Open MPI: it reads no coll/tuned rules")
    found = (int(match[1]), int(match[2]), int(match[3]))
    if not (4, 1, 0) <= found < (7, 0, 0):
        raise PlumblineError(
            f"{library.id}: rules files are known for Open MPI 4.1, 5.0 and 6.0; other versions "
            "may give the same file another meaning"
        )
    return found


def reads_version_2(library: Library) -> bool:
    """Whether a rules file may have the header `rule-file-version-2` and a fifth column. Older
    libraries ignore such a file without a word."""
    return version_reads_second(version(library))


def version_reads_second(found: Version) -> bool:
    return found >= (5, 0, 7) or (4, 1, 8) <= found < (5, 0, 0)


def prefix(function: str) -> str:
    """`coll_tuned_reduce_scatter_block_algorithm` for MPI_Reduce_scatter_block."""
    return f"coll_tuned_{function.removeprefix('MPI_').lower()}_algorithm"
