"""The placement of the ranks of a launch: part of what a measurement is a measurement of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import msgspec

from plumbline.system.words import counted
from plumbline_db.errors import UsageError
from plumbline_db.probe_records import Header

# A look at whether ranks are where they were asked to be: what a launch was asked for, against what
# its header says. Pure; `domains` (machine.domains) are the processing units of each core, socket
# and NUMA node of a node.

_Domains = Mapping[str, Sequence[frozenset[int]]]
_UNIT = re.compile(r"[0-9]{1,6}")


def units(text: str) -> frozenset[int]:
    """`0-1,4` -> {0, 1, 4}, as the kernel and hwloc write lists of processing units."""
    numbers: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (_UNIT.fullmatch(first) and _UNIT.fullmatch(last)):
            return frozenset()  # `0-` of hwloc: all there can be
        numbers.update(range(int(first), int(last) + 1))
    return frozenset(numbers)


def mismatch(header: Header, placement: Placement, domains: _Domains) -> str:
    """Return what is not as it was asked for; empty where all is, as far as that can be told."""
    if (header.nodes, header.ppn) != (placement.nodes, placement.ppn):
        return (
            f"{counted(placement.nodes, 'node')} with {counted(placement.ppn, 'rank')} each were "
            f"asked for, the ranks are on {counted(header.nodes, 'node')} "
            f"({', '.join(header.hosts)}), up to {header.ppn} on one"
        )
    # Containers of one machine cannot detect that they share it.
    if placement.nodes > 1 and header.oversubscribed and not placement.oversubscribed:
        return (
            f"a node has {counted(header.processing_units, 'processing unit')}, fewer than it "
            "reported before"
        )
    return _misbound(header, placement.binding, domains)


def _misbound(header: Header, bind: str, domains: _Domains) -> str:
    known_domains = domains.get(bind, ())
    for rank, text in enumerate(header.binding):
        bound = units(text)
        if not bound:
            continue  # not known
        if bind == "none" and len(bound) < header.processing_units:
            return f"rank {rank} is bound to {text}, though bind = none was asked for"
        if known_domains and not any(bound <= domain for domain in known_domains):
            return f"rank {rank} may run on {text}, though bind = {bind} was asked for"
    return ""


# Bindings that every mpirun supports; `plain` means that nothing is requested.
PLAIN: Literal["plain"] = "plain"
Bind = Literal["core", "socket", "numa", "none", "plain"]
MapBy = Literal["core", "socket", "numa", "node"]
BINDS: tuple[str, ...] = get_args(Bind)


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """`nodes` times `ppn` ranks. `oversubscribed`: more ranks on a node than it has processing
    units. `bind` and `map_by` are empty where nothing is asked for: the library decides, but for
    oversubscribed ranks, which are bound where the library would not, since the system would place
    them anew in each launch. With `bind` PLAIN it decides there too: ranks are where a plain
    `mpirun` or `srun` of the user puts them."""

    nodes: int
    ppn: int
    bind: str = ""
    map_by: str = ""
    oversubscribed: bool = False

    @property
    def nprocs(self) -> int:
        return self.nodes * self.ppn

    @property
    def binding(self) -> str:
        """Return what mpirun is asked to bind ranks to; empty where that is left to the library."""
        return "" if self.bind == PLAIN else self.bind

    @property
    def held(self) -> bool:
        """Return whether ranks are to stay on a processing unit though nobody asked for it."""
        return self.oversubscribed and not self.bind

    def plain(self) -> Placement:
        """Return a placement of as many ranks, where a plain `mpirun` or `srun` of the user puts
        them."""
        return msgspec.structs.replace(self, bind=PLAIN, map_by="")


def here(nprocs: int, processing_units: int) -> Placement:
    """All ranks on one node that has so many processing units."""
    return Placement(nodes=1, ppn=nprocs, oversubscribed=nprocs > processing_units)


def parse(text: str) -> tuple[int, int]:
    """`32x16` -> (nodes, ranks a node). Raises UsageError."""
    nodes, cross, ppn = text.partition("x")
    if not (cross and all(re.fullmatch(r"[0-9]{1,9}", digits) for digits in (nodes, ppn))):
        raise UsageError(f"{text!r}: a layout is nodes x ranks a node, as in 32x16")
    if int(nodes) < 1 or int(ppn) < 1:
        raise UsageError(f"{text!r}: nodes and ranks a node start at 1")
    return int(nodes), int(ppn)
