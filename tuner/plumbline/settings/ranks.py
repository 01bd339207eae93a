"""Settings that say how many ranks there are, where they come from, and where on it they are
put."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from plumbline.core.reach import Hosts
from plumbline.launch import simulation
from plumbline.launch.allocation import JobTable
from plumbline.launch.simulation import Simulation
from plumbline.system.machine import processing_units
from plumbline.system.placement import Bind, MapBy, Placement

# The tables that define the hosts of ranks; a file has at most one of them.
PLACES = ("simulate", "hosts", "job")

_MOST_RANKS = 2**24


class Ranks(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The ranks, and where they are."""

    nprocs: int = 0
    """Ranks (default: one for each processing unit, two at least, or 32 simulated ones)."""
    nodes: int | None = None
    """Nodes, with the same number of ranks on each; default: one, all `hosts`, or one simulated
    node for each rank."""
    bind: Bind | None = None
    """Bind ranks to this (plain: leave it to mpirun; default: plain, or core if there are more
    ranks than cores)."""
    map_by: MapBy | None = None
    """Place consecutive ranks on consecutive ones of these; default: the library's own order."""
    simulate: Simulation | None = None
    """A simulated machine in place of this one (docs/simulated.md)."""
    hosts: Hosts | None = None
    """Several machines in place of this one (docs/clusters.md)."""
    job: JobTable | None = None
    """The nodes of a scheduler's job in place of this machine (docs/clusters.md)."""
    within: str | None = None
    """Ranks that stay alive (4x8: 8 on each of 4 nodes), whose first ones measure, and groups of
    them at a time, if as fast so."""

    @property
    def whole(self) -> Ranks | None:
        """Return the ranks whose first ones these are; None: these are all."""
        if self.within is None:
            return None
        nodes, ppn = map(int, self.within.split("x"))
        own_nodes = None if self.nodes is None and self.place is None else nodes
        return msgspec.structs.replace(self, nprocs=nodes * ppn, nodes=own_nodes, within=None)

    @property
    def place(self) -> msgspec.Struct | None:
        """The table that says where ranks come from; None: this machine."""
        return next((table for key in PLACES if (table := getattr(self, key)) is not None), None)

    @property
    def node_count(self) -> int:
        if self.nodes is not None:
            return self.nodes
        if self.hosts is not None:
            return len(self.hosts.names)
        return 1 if self.simulate is None else simulation.nodes(self.simulate, self.nprocs)

    @property
    def ppn(self) -> int:
        return self.nprocs // self.node_count

    def placement(self, processing_units: int | None) -> Placement:
        """`processing_units` of a node; None where nothing is shared."""
        return Placement(
            nodes=self.node_count,
            ppn=self.ppn,
            bind=self.bind or "",
            map_by=self.map_by or "",
            oversubscribed=processing_units is not None and self.ppn > processing_units,
        )

    def canonical(self) -> Ranks:
        """Return the settings with the number of ranks, and those hosts that are used."""
        hosts = self.hosts
        if hosts is None:
            usual = default_nprocs() if self.simulate is None else simulation.NPROCS
        else:
            usual = self.node_count * processing_units()
            hosts = msgspec.structs.replace(hosts, names=hosts.names[: max(1, self.node_count)])
        return msgspec.structs.replace(self, nprocs=self.nprocs or usual, hosts=hosts)

    def problems(self) -> Iterator[str]:
        settled = self.canonical()
        nprocs, nodes = settled.nprocs, settled.node_count
        simulated = self.simulate is not None
        if self.hosts is not None and nodes > len(self.hosts.names):
            yield f"{nodes} nodes, but the table hosts names {len(self.hosts.names)} of them"
        if not 2 <= nprocs <= _MOST_RANKS:
            yield f"nprocs must be at least 2, and at most {_MOST_RANKS}"
        if not (simulated and self.nodes is None) and (nodes < 1 or nprocs % nodes):
            yield "nodes must divide nprocs"
        if self.place is None and nodes > 1:
            tables = ", ".join(f"[{key}]" for key in PLACES)
            yield (
                f"nodes = {nodes}: several nodes need a table that says where they come from "
                f"({tables})"
            )
        if self.simulate is not None:
            yield from _unfit(self.simulate, nprocs, nodes)
        if simulated and (self.bind or self.map_by):
            yield "a simulated machine binds no ranks"
        if sum(getattr(self, key) is not None for key in PLACES) > 1:
            yield f"at most one of the tables {', '.join(PLACES)} can say where ranks come from"
        if self.within is not None:
            yield from _unfit_within(self.within, nodes, nprocs // max(1, nodes))
        if not self.nprocs and self.job is not None:
            yield "nprocs must be given outside of a scheduler's job"


def _unfit(machine: Simulation, nprocs: int, nodes: int) -> Iterator[str]:
    """Return why a simulated machine has no place for these ranks."""
    if nprocs % nodes:
        yield f"nprocs must be a multiple of the {nodes} nodes of the shape"
    problem = simulation.problem(machine, nodes)
    if problem is not None:
        yield problem


def _unfit_within(text: str, nodes: int, ppn: int) -> Iterator[str]:
    """Return why these ranks are not the first ones of others."""
    if not re.fullmatch(r"[1-9]\d{0,6}x[1-9]\d{0,6}", text):
        yield f"within = {text!r}: NODESxRANKS, for example 4x8"
        return
    all_nodes, all_ppn = map(int, text.split("x"))
    if all_nodes < nodes or all_ppn < ppn:
        yield f"within = {text!r} has no room for {nodes}x{ppn}"


def default_nprocs() -> int:
    """Return a rank for each processing unit, and two where there is only one: ranks that share a
    core mostly wait for each other."""
    return max(2, processing_units())
