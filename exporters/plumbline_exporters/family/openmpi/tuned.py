"""Facts about coll/tuned of Open MPI 4.1, 5.0 and 6.0 that a rules file must respect.

Each was tried on 4.1.4, 4.1.8 and 5.0.11 (see docs/design/libraries.md); those of 6.0 were read,
not tried. What the algorithms are, and which need an operator that commutes, the search space says
(facts.py); the rest stands here, and how winners are divided: what a rules file can say, what a
profile can say, and what holds for a whole process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library, Winner
from plumbline_exporters import facts
from plumbline_exporters.bundle import Bundle, put

Version = tuple[int, ...]
OLDEST = (4, 1, 0)
JSON_SINCE = (6, 0, 0)  # rules are JSON; the older format means something else there


class Collective(msgspec.Struct, frozen=True):
    """6.0, which the search space does not hold, adds `since_6` behind the algorithms of 5.0, and
    gives `renamed_6` to some; of the added ones `commutative_6` are for operators that commute.

    `size` is what the library compares with a rule's message size: `volume` the n of
    docs/plan-and-records.md; `blocks` the same, where p equal blocks make it a multiple of p;
    `average` n // p; `none`: one rule serves all sizes. For Gather and Scatter that is so because
    ranks compute different sizes from legal arguments: a switch by size gives wrong data.
    `in_place_is_zero`: a call with MPI_IN_PLACE is looked up under size 0. `in_place_differs`: so
    that ranks may differ. (Not of Alltoall, whose algorithms are all the same one then.) `rooted`:
    each rank computes its size from arguments that need not be the same on all ranks."""

    function: str
    rule_id: int
    size: Literal["volume", "blocks", "average", "none"]
    since_6: tuple[str, ...] = ()
    renamed_6: tuple[tuple[str, str], ...] = ()
    commutative_6: frozenset[str] = frozenset()
    in_place_is_zero: bool = False
    in_place_differs: bool = False
    rooted: bool = False

    def names(self, *versions: Version) -> tuple[str, ...]:
        """The algorithms that one of these versions has, in order of their ids from 1, by the names
        they have before 6.0."""
        latest = max(versions, default=OLDEST)
        algorithms = [
            algorithm
            for algorithm in self._space().algorithms
            if tuple(int(number) for number in algorithm.min_version.split(".")) <= latest
        ]
        names = tuple(
            algorithm.name for algorithm in sorted(algorithms, key=lambda algorithm: algorithm.id)
        )
        return names + (self.since_6 if latest >= JSON_SINCE else ())

    def names_in(self, version: Version) -> tuple[str, ...]:
        """The algorithms of one version by the names that it has for them."""
        names = self.names(version)
        renamed = dict(self.renamed_6) if version >= JSON_SINCE else {}
        return tuple(renamed.get(name, name) for name in names)

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Return those that all versions have."""
        return self.names(OLDEST)

    @property
    def commutative_only(self) -> frozenset[str]:
        return self.commutative_6 | self._space().commutative_only()

    def _space(self) -> facts.Function:
        return facts.function("openmpi", self.function)

    def id_of(self, algorithm: str, library: Library) -> int | None:
        """The id of an algorithm given by name or id; None when this library has none such."""
        names = self.names(version(library))
        if version(library) >= JSON_SINCE:
            algorithm = {new: old for old, new in self.renamed_6}.get(algorithm, algorithm)
        if algorithm in names:
            return names.index(algorithm) + 1
        if re.fullmatch(r"[0-9]{1,9}", algorithm) and 1 <= int(algorithm) <= len(names):
            return int(algorithm)
        return None

    def name_of(self, number: int) -> str:
        return self.names(JSON_SINCE)[number - 1]

    @property
    def one_for_all_sizes(self) -> bool:
        """Return whether a rule must hold for every size: the library knows none, or ranks may
        differ."""
        return self.size == "none" or self.in_place_differs

    @property
    def of_one_rank(self) -> bool:
        """Return whether benchmarks count one rank's block where the library counts those of all
        ranks."""
        return self.size == "blocks" or self.rooted


_COLLECTIVES = (
    Collective(
        "MPI_Allgather",
        0,
        "blocks",
        since_6=("direct-messaging",),
        renamed_6=(("bruck", "bruck-k-fanout"),),
        in_place_is_zero=True,
        in_place_differs=True,
    ),
    Collective("MPI_Allgatherv", 1, "average"),
    Collective("MPI_Allreduce", 2, "volume", since_6=("allgather_reduce",)),
    Collective("MPI_Alltoall", 3, "blocks", in_place_is_zero=True),
    Collective("MPI_Alltoallv", 4, "none"),
    Collective("MPI_Barrier", 6, "none"),
    Collective("MPI_Bcast", 7, "volume"),
    Collective("MPI_Exscan", 8, "none"),
    Collective("MPI_Gather", 9, "none", rooted=True),
    Collective(
        "MPI_Reduce",
        11,
        "volume",
        since_6=("knomial",),
        commutative_6=frozenset({"knomial"}),
    ),
    Collective("MPI_Reduce_scatter", 12, "volume"),
    Collective("MPI_Reduce_scatter_block", 13, "blocks"),
    Collective("MPI_Scan", 14, "none"),
    Collective("MPI_Scatter", 15, "none", rooted=True),
)
COLLECTIVES = {collective.function: collective for collective in _COLLECTIVES}

# Algorithms of Gather in which the messages of all ranks depend on the segment size.
SPLITS_FIRST = ("linear_sync",)
# Functions whose compared size is that of one element times the ranks; for Alltoallv and Barrier it
# is 0.
SIZE_OF_AN_ELEMENT = ("MPI_Exscan", "MPI_Scan")


def name_in(function: str, number: int, versions: Sequence[Version]) -> str:
    """The name of an algorithm in one of these versions; empty where none has it."""
    names = COLLECTIVES[function].names(*versions)
    return names[number - 1] if 1 <= number <= len(names) else ""


def version(library: Library) -> tuple[int, int, int]:
    """(4, 1, 4); PlumblineError when the library is not one whose rules are known."""
    match = re.match(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})", library.version)
    if library.family != "openmpi" or match is None:
        raise PlumblineError(f"{library.id} is not Open MPI: it reads no coll/tuned rules")
    version_found = (int(match[1]), int(match[2]), int(match[3]))
    if not OLDEST <= version_found < (7, 0, 0):
        raise PlumblineError(
            f"{library.id}: rules files are known for Open MPI 4.1, 5.0 and 6.0; other versions "
            "may give the same file another meaning"
        )
    return version_found


def reads_version_2(library: Library) -> bool:
    """Return whether a rules file may have the header `rule-file-version-2` and a fifth column.
    Older libraries ignore such a file without a word."""
    return version_reads_second(version(library))


def version_reads_second(version_found: Version) -> bool:
    return version_found >= (5, 0, 7) or (4, 1, 8) <= version_found < (5, 0, 0)


def parameter_prefix(function: str) -> str:
    """`coll_tuned_reduce_scatter_block_algorithm` for MPI_Reduce_scatter_block."""
    return f"coll_tuned_{function.removeprefix('MPI_').lower()}_algorithm"


# On several nodes coll/han answers before coll/tuned; a search takes it off its communicators.
PAST_HAN = ("coll_han_priority", "0")
RULE_SUFFIXES = ("", "_segmentsize", "_chain_fanout", "_tree_fanout", "_max_requests")


def rule_knobs(winner: Winner) -> dict[str, str]:
    """The part of a configuration that a rules file can express, by suffix: "" is the algorithm."""
    prefix = parameter_prefix(winner.function)
    return {
        suffix: winner.configuration[prefix + suffix]
        for suffix in RULE_SUFFIXES
        if prefix + suffix in winner.configuration
    }


def is_rule(winner: Winner) -> bool:
    """The library's own function with algorithm knobs: belongs to the rules file."""
    return winner.variant == "default" and bool(rule_knobs(winner))


def global_knobs(bundle: Bundle) -> dict[str, str]:
    """Knobs that hold for a whole process, whatever the function and size.

    Two winners that want different values are an error, and so is the algorithm knob of another
    function, which would change that function everywhere."""
    values: dict[str, str] = {}
    for winner in bundle.winners:
        prefix = parameter_prefix(winner.function)
        own = {prefix + suffix for suffix in RULE_SUFFIXES}
        for name, value in sorted(winner.configuration.items()):
            if winner.variant == "default" and name in own:
                continue
            if is_rule(winner) and (name, value) == PAST_HAN:
                continue  # han.py says so for these calls alone
            if name.startswith("coll_tuned_") and name.endswith(
                tuple(f"_algorithm{suffix}" for suffix in RULE_SUFFIXES)
            ):
                raise PlumblineError(
                    f"{winner.function}, {winner.nprocs} ranks: {name} belongs to another function "
                    "or to a variant's parts; no file can set it for these calls alone"
                )
            put(values, winner, name, value)
    return values
