"""The placement of the ranks of a launch: part of what a measurement is a measurement of."""

from __future__ import annotations

import re
from typing import Literal, get_args

import msgspec

from plumbline_db.errors import UsageError

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
