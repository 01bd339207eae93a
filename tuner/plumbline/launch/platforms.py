"""Platforms of simulated machines as text in SimGrid's own format: a topology out of a few numbers.

Pure. Nodes are numbered through in the order in which the topology has them, and ranks fill one
node after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

Topology = Literal["cluster", "fat-tree", "dragonfly", "torus"]


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """`latency_seconds` and `bandwidth_bytes_per_second` of each link, in each direction;
    `switch_latency_seconds` of the one switch of a cluster; `near_…` of messages inside a node."""

    latency_seconds: float
    bandwidth_bytes_per_second: float
    switch_latency_seconds: float
    near_latency_seconds: float
    near_bandwidth_bytes_per_second: float


def platform(topology: Topology, shape: Sequence[int], links: Links, nodes: int, ppn: int) -> str:
    """The platform file of `nodes` nodes with `ppn` cores each."""
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-{nodes - 1}" speed="1Gf"
           bw="{links.bandwidth_bytes_per_second!r}Bps" lat="{links.latency_seconds!r}s"
           {_middle(topology, shape, links, nodes)}{_inside(links, ppn)}/>
</platform>
"""


def hostfile(nodes: int, ppn: int) -> str:
    return "".join(f"node-{node}\n" * ppn for node in range(nodes))


def problem(topology: Topology, shape: Sequence[int], nodes: int | None = None) -> str | None:
    """Why there is no such topology (of so many nodes); None where there is."""
    form, count = _FORMS[topology]
    if any(extent < 1 for extent in shape):
        return f"shape = {list(shape)}: numbers from 1 on"
    if len(shape) < 1 if topology == "torus" else len(shape) != count:
        return f'shape of topology = "{topology}" is {form}, not {list(shape)}'
    if topology == "cluster":
        return None
    if topology == "dragonfly" and shape[0] > shape[2]:
        # SimGrid's way to a group goes through the router of that number; without one it aborts.
        return (
            f"shape = {list(shape)}: {shape[0]} groups want {shape[0]} routers a chassis or more, "
            f"each has the link to one group; there are {shape[2]}"
        )
    held = nodes_of(topology, shape)
    if nodes is not None and nodes != held:
        return f"shape = {list(shape)} has {held} nodes, and the ranks are spread over {nodes}"
    return None


def nodes_of(topology: Topology, shape: Sequence[int]) -> int:
    """How many nodes the shape has; a cluster has any number."""
    return math.prod(shape[:2] if topology == "fat-tree" else shape)


_FORMS: dict[str, tuple[str, int]] = {
    "cluster": ("[]", 0),
    "fat-tree": ("[nodes a leaf switch, leaf switches, switches above]", 3),
    "dragonfly": ("[groups, chassis a group, routers a chassis, nodes a router]", 4),
    "torus": ("[nodes along each dimension, …]", 0),
}


def _fat_tree(shape: Sequence[int]) -> str:
    """Two levels; every leaf switch has one link to every switch above."""
    nodes, leaves, above = shape
    return f"2;{nodes},{leaves};1,{above};1,1"


def _dragonfly(shape: Sequence[int]) -> str:
    """One link between any two groups, chassis of a group, routers of a chassis."""
    groups, chassis, routers, nodes = shape
    return f"{groups},1;{chassis},1;{routers},1;{nodes}"


def _torus(shape: Sequence[int]) -> str:
    return ",".join(map(str, shape))


_PARAMETERS: dict[str, tuple[str, Callable[[Sequence[int]], str]]] = {
    "fat-tree": ("FAT_TREE", _fat_tree),
    "dragonfly": ("DRAGONFLY", _dragonfly),
    "torus": ("TORUS", _torus),
}


def _middle(topology: Topology, shape: Sequence[int], links: Links, nodes: int) -> str:
    if topology == "cluster":
        # The switch is as fast as all links together, and what passes it never shares.
        switch = nodes * links.bandwidth_bytes_per_second
        return (
            f'bb_bw="{switch!r}Bps" bb_lat="{links.switch_latency_seconds!r}s"\n'
            '           bb_sharing_policy="FATPIPE"'
        )
    name, parameters = _PARAMETERS[topology]
    return f'topology="{name}" topo_parameters="{parameters(shape)}"'


def _inside(links: Links, ppn: int) -> str:
    """Of messages that stay inside a node; with one rank, those to itself."""
    return (
        f'\n           core="{ppn}" loopback_lat="{links.near_latency_seconds!r}s"'
        f' loopback_bw="{links.near_bandwidth_bytes_per_second!r}Bps"'
    )
