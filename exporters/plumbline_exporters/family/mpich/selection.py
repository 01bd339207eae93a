"""MPICH's tables of collective algorithms with the winners in them (JSON, 4.x and 5.x).

A file replaces the library's whole table, so ours start from the library's own, which lie in it as
text. For communicators with as many ranks as were measured, and the sizes of a winner, a branch of
ours comes first; every other call meets the library's branches, unchanged."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Library, Winner
from plumbline_exporters.bundle import (
    Bundle,
    RankGroups,
    groups_by_ranks,
    heading,
    last_volume,
    sizes,
)
from plumbline_exporters.family.mpich import coll
from plumbline_exporters.registry import exporter

FILE_NAME = "mpich-selection.json"
COMPOSITIONS_FILE_NAME = "mpich-compositions.json"
VARIABLE = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
COMPOSITIONS_VARIABLE = "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE"
_LIBRARIES = ("lib*/libmpi.so*", "lib*/libmpich.so*", "lib/*/libmpi.so*", "lib/*/libmpich.so*")
_TABLE = re.compile(rb'\{"collective=[^\0]+\}(?=\0)')
_MARK = "plumbline="  # parameters that an algorithm does not know are not looked at
_HEAD = "written="
_WHAT = "Tables of algorithms for MPICH, written by Plumbline."
_MOST_BYTES = 2**31 - 1  # the library reads sizes as int

# An algorithm that is wrong for every function except its own, and one for that function.
_STRANGERS = {
    "algorithm": ("MPIR_Barrier_intra_smp", "MPIR_Exscan_intra_recursive_doubling"),
    "composition": (
        "MPIDI_Barrier_intra_composition_alpha",
        "MPIDI_Exscan_intra_composition_alpha",
    ),
}

Tree = dict[str, Any]


def tables(library: Library) -> tuple[Tree, Tree]:
    """The library's own tables, of algorithms and of compositions. Raises PlumblineError."""
    prefix = Path(library.prefix)
    for pattern in _LIBRARIES:
        for path in sorted(prefix.glob(pattern)):
            branches = [json.loads(text) for text in _TABLE.findall(path.read_bytes())]
            algorithms = [branch for branch in branches if "algorithm=MPIR_" in json.dumps(branch)]
            compositions = [branch for branch in branches if "composition=" in json.dumps(branch)]
            if algorithms and compositions:
                return algorithms[0], compositions[0]
    raise PlumblineError(
        f"no tables of algorithms in the libraries under {prefix}: {library.id} cannot be told "
        "what to use for each size"
    )


@exporter(
    "mpich-json",
    "MPICH's tables of algorithms, by communicator and message size",
    family="mpich",
)
def files(bundle: Bundle) -> dict[str, str]:
    named = variables(bundle)
    if not named:
        return {}
    chosen = [winner for winner in bundle.winners if coll.algorithm(winner) is not None]
    algorithms, compositions = tables(bundle.library)
    for winner in chosen:
        _require_sizes(winner)
    by_ranks = groups_by_ranks(chosen)
    for function in dict.fromkeys(function for function, *_ in by_ranks):
        own = {key: group for key, group in by_ranks.items() if key[0] == function}
        _put(algorithms, own, partial(_choice, bundle))
        if coll.COLLECTIVES[function].composition:
            _put(compositions, own, partial(_left_to_algorithms, bundle))
    written = {FILE_NAME: algorithms, COMPOSITIONS_FILE_NAME: compositions}
    return {name: json.dumps(written[name], indent=1) + "\n" for name in named.values()}


def variables(bundle: Bundle) -> dict[str, str]:
    """The tables that winners stand in, by the variable that names each: that of compositions only
    where some function has one."""
    chosen = [winner for winner in bundle.winners if coll.algorithm(winner) is not None]
    composed = any(coll.COLLECTIVES[winner.function].composition for winner in chosen)
    file_by_variable = {VARIABLE: FILE_NAME} if chosen else {}
    return file_by_variable | ({COMPOSITIONS_VARIABLE: COMPOSITIONS_FILE_NAME} if composed else {})


def _require_sizes(winner: Winner) -> None:
    whole = winner.bytes_from == 0 and winner.bytes_to == UNBOUNDED_BYTES
    if coll.COLLECTIVES[winner.function].size or whole or winner.function == "MPI_Barrier":
        return
    raise PlumblineError(
        f"{winner.function}, {winner.nprocs} ranks, {sizes(winner)}: not exported: the library's "
        "tables know no size of such a call, so one algorithm must serve all"
    )


Leaf = Callable[[Winner, Tree], Tree]


def _put(table: Tree, groups: RankGroups, leaf: Leaf) -> None:
    """Put the groups of one function into the branch of communicators within one group of ranks;
    communicators between two groups are left alone."""
    function = next(iter(groups))[0]
    key = f"collective={function.removeprefix('MPI_').lower()}"
    branch = table.get(key)
    if branch is None:
        raise PlumblineError(f"{function}: the library's table has no branch for it")
    if "comm_type=intra" in branch:
        branch["comm_type=intra"] = _of_ranks(branch["comm_type=intra"], groups, leaf)
    else:
        table[key] = {"comm_type=intra": _of_ranks(branch, groups, leaf)}
        if function not in ("MPI_Scan", "MPI_Exscan"):  # there are none between two groups
            table[key]["comm_type=inter"] = branch


def _of_ranks(branch: Tree, groups: RankGroups, leaf: Leaf) -> Tree:
    """Branches in order of the number of ranks, all at one level: a branch inside another one would
    double the file with each number of ranks."""
    ranks_tree: Tree = {}
    reached = -1  # the largest number of ranks that a branch so far serves
    for (_, first, last), group in groups.items():
        if first > reached + 1:
            ranks_tree[f"comm_size<{first}"] = branch
        ranks_tree[f"comm_size<={last}"] = _of_sizes(branch, (first, last), group, leaf)
        reached = last
    return ranks_tree | {"comm_size=any": branch}


def _of_sizes(branch: Tree, ranks: Sequence[int], group: list[Winner], leaf: Leaf) -> Tree:
    """Branches in order of size: what is below and between winners is the library's."""
    collective = coll.COLLECTIVES[group[0].function]
    if not collective.size:
        return leaf(group[0], branch)
    sizes_tree: Tree = {}
    reached = -1  # the largest size that a branch so far serves
    for winner, following in zip(group, [*group[1:], None], strict=True):
        first, last = _bounds(collective, winner, following, ranks)
        if first > reached + 1:
            sizes_tree[f"{collective.size}<{first}"] = branch
        if last >= _MOST_BYTES:
            sizes_tree[f"{collective.size}=any"] = leaf(winner, branch)
            return sizes_tree
        sizes_tree[f"{collective.size}<={last}"] = leaf(winner, branch)
        reached = last
    sizes_tree[f"{collective.size}=any"] = branch
    return sizes_tree


def _bounds(
    collective: coll.Collective, winner: Winner, following: Winner | None, ranks: Sequence[int]
) -> tuple[int, int]:
    """The sizes of a winner as the library counts them, ends included, and without those of the
    next winner."""
    first, last = winner.bytes_from, winner.bytes_to
    if collective.counts != "volume" and last != UNBOUNDED_BYTES:
        last = last_volume(winner)
        if following is not None:
            last = min(last, following.bytes_from - 1)
    if collective.counts == "block":
        first, last = -(-first // ranks[0]), last // ranks[1]
    if last < first:
        raise PlumblineError(
            f"{winner.function}, {winner.nprocs} ranks, {sizes(winner)}: the library cannot tell "
            "calls of these sizes from their neighbours"
        )
    return first, last


def _left_to_algorithms(bundle: Bundle, winner: Winner, branch: Tree) -> Tree:
    del branch
    composition = coll.COLLECTIVES[winner.function].composition
    return {f"composition={composition}": _about(bundle, winner)}


def _about(bundle: Bundle, winner: Winner) -> Tree:
    """The mark of a winner's end, and where it comes from. No comment can stand in JSON, and no key
    may be strange but those at an end."""
    lines = heading(msgspec.structs.replace(bundle, winners=[winner]), _WHAT)
    return {_mark(winner): {}} | {f"{_HEAD}{line.removeprefix('# ')}": {} for line in lines}


def _mark(winner: Winner) -> str:
    return f"{_MARK}{winner.bytes_from}-{winner.bytes_to}"


def _choice(bundle: Bundle, winner: Winner, branch: Tree) -> Tree:
    """The winner's algorithm, for calls that it is right for; `branch` for the others."""
    name = coll.algorithm(winner) or ""
    tree: Tree = coll.leaf(winner, name)
    for inside in tree.values():
        inside.update(_about(bundle, winner))
    for key, value in reversed(coll.guards(winner.function, name)):
        if key == "count":
            tree = {"count<pow2": branch, "count=any": tree}
        else:
            tree = {
                f"{key}={answer}": tree if answer == value else branch for answer in ("yes", "no")
            }
    return tree


class Corrupted(msgspec.Struct, frozen=True):
    """A table whose choice for one winner is that of another function, for winners that start from
    `bytes_from` to `bytes_to`."""

    function: str
    bytes_from: int
    bytes_to: int
    text: str


def corrupted(text: str) -> Iterator[Corrupted]:
    """A copy of the table `text`, of either kind, for each choice of ours in it. The library ends a
    process that meets what is corrupted."""
    table = json.loads(text)
    for key in table:
        name = key.removeprefix("collective=")
        for mark in sorted({mark for _, mark in _marks(table[key])}):
            changed = copy.deepcopy(table)
            for leaf, leaf_mark in list(_marks(changed[key])):
                if leaf_mark == mark:
                    kind = next(iter(leaf)).partition("=")[0]
                    leaf.clear()
                    leaf[f"{kind}={_STRANGERS[kind][name == 'barrier']}"] = {}
            first = int(mark.removeprefix(_MARK).partition("-")[0])
            yield Corrupted(f"MPI_{name.capitalize()}", first, first, json.dumps(changed))


def _marks(tree: Tree) -> Iterator[tuple[Tree, str]]:
    """Ends of branches that are ours, with their marks."""
    for key, below in tree.items():
        if key.startswith(tuple(f"{kind}=" for kind in _STRANGERS)):
            for word in below:
                if word.startswith(_MARK):
                    yield tree, word
        elif isinstance(below, dict):
            yield from _marks(below)
