"""A simulated machine in a few numbers: what SimGrid is told of it, and who it is in the database.

Numbers, or somebody's platform file, in, text out. How it is started is in launch/simulated.py,
which library is re-created on it in libraries/simgrid; docs/simulated.md says what all of it is
worth."""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path
from typing import Literal, cast

import msgspec

from plumbline.core.selectors import SELECTORS, Selector
from plumbline.core.unmeasured import Unmeasured
from plumbline.system.placement import Placement
from plumbline_db import user_files
from plumbline_db.errors import UsageError
from plumbline_db.records import Machine

NPROCS = 32

Topology = Literal["cluster", "fat-tree", "dragonfly", "torus"]

# The form of each topology's shape, in words, and how many numbers it has.
_FORMS: dict[Topology, tuple[str, int]] = {
    "cluster": ("[]", 0),
    "fat-tree": ("[nodes a leaf switch, leaf switches, switches above]", 3),
    "dragonfly": ("[groups, chassis a group, routers a chassis, nodes a router]", 4),
    "torus": ("[nodes along each dimension, …]", 0),
}


class Simulation(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """The table `simulate` of a campaign file. `library` is the library whose decisions are
    re-created. The machine has nodes with a core for each of their ranks; a link has
    `latency_seconds` and `bandwidth_bytes_per_second` in each direction. How links join the nodes:
    `topology` and `shape` (_FORMS). A cluster is one from every node to a switch, which never
    blocks and adds `switch_latency_seconds`. A message inside a node takes `near_latency_seconds`
    and has `near_bandwidth_bytes_per_second`, whatever else is under way there. `platform`: a
    file of SimGrid's in place of all this. A message takes its sender `send_seconds` and its
    receiver `receive_seconds` of their own time; other computation takes none. A case that is not
    simulated in `case_seconds` of a processor is given up."""

    library: Selector
    topology: Topology = "cluster"
    shape: list[int] = []
    latency_seconds: float = 5e-6
    bandwidth_bytes_per_second: float = 1.25e9
    switch_latency_seconds: float = 1e-6
    near_latency_seconds: float = 5e-7
    near_bandwidth_bytes_per_second: float = 1e10
    platform: str = ""
    # Calibrated for small messages on a cluster with links of 10 Gbit/s (docs/simulated.md).
    send_seconds: float = 5.8e-6
    receive_seconds: float = 4.5e-6
    # The load of the computer that simulates, from 64 ranks on.
    case_seconds: Unmeasured[float] = 120.0

    def __post_init__(self) -> None:
        latency = "seconds above 0, below 1"
        bandwidth = "bytes per second, from 1e3 on, below 1e15"
        legal = {
            "latency_seconds": (0 < self.latency_seconds < 1, f"{latency} (5e-6)"),
            "near_latency_seconds": (0 < self.near_latency_seconds < 1, f"{latency} (5e-7)"),
            "switch_latency_seconds": (
                0 <= self.switch_latency_seconds < 1,
                "seconds from 0 on, below 1 (1e-6)",
            ),
            "case_seconds": (0 <= self.case_seconds < 1e6, "seconds, 0 for no limit (120)"),
            "send_seconds": (0 <= self.send_seconds < 1, "seconds from 0 on, below 1 (5.8e-6)"),
            "receive_seconds": (
                0 <= self.receive_seconds < 1,
                "seconds from 0 on, below 1 (4.5e-6)",
            ),
            "bandwidth_bytes_per_second": (
                1e3 <= self.bandwidth_bytes_per_second < 1e15,
                f"{bandwidth} (1.25e9)",
            ),
            "near_bandwidth_bytes_per_second": (
                1e3 <= self.near_bandwidth_bytes_per_second < 1e15,
                f"{bandwidth} (1e10)",
            ),
        }
        for key, (fine, requirement) in legal.items():
            if not fine:
                raise ValueError(f"{key} = {getattr(self, key)!r}: it must be {requirement}")
        why = problem(self)
        if why is not None:
            raise ValueError(why)


def known(selector: str) -> Selector:
    """`selector`, if there is such a one. Raises UsageError."""
    for candidate in SELECTORS:
        if candidate == selector:
            return cast(Selector, candidate)
    raise UsageError(f"{selector} cannot be simulated; choose one of {', '.join(SELECTORS)}")


def nodes(simulation: Simulation, nprocs: int) -> int:
    """Return how many nodes the ranks are spread over where nobody says: those of the shape; else a
    node a rank."""
    return _nodes_of(simulation) if simulation.shape else nprocs


def _nodes_of(simulation: Simulation) -> int:
    """Return how many the shape has; a cluster has any number."""
    shape = simulation.shape
    return math.prod(shape[:2] if simulation.topology == "fat-tree" else shape)


def problem(simulation: Simulation, nodes: int | None = None) -> str | None:
    """Return why there is no such machine (with place for so many nodes); None where there is."""
    topology, shape = simulation.topology, simulation.shape
    form, count = _FORMS[topology]
    if any(extent < 1 for extent in shape):
        return f"shape = {shape}: numbers from 1 on"
    if len(shape) < 1 if topology == "torus" else len(shape) != count:
        return f'shape of topology = "{topology}" is {form}, not {shape}'
    if topology == "cluster":
        return None
    if topology == "dragonfly" and shape[0] > shape[2]:
        # SimGrid reaches a group through the router of that number, and aborts if it is missing.
        return (
            f"shape = {shape}: {shape[0]} groups need at least {shape[0]} routers in each chassis "
            f"(each has the link to one group), not {shape[2]}"
        )
    held = _nodes_of(simulation)
    if nodes not in (None, held) and not simulation.platform:
        return f"shape = {shape} has {held} nodes, and the ranks are spread over {nodes}"
    return None


def overheads(simulation: Simulation) -> list[str]:
    """Options of smpirun: what each message costs its sender (blocking or not) and its receiver,
    whatever its size."""
    values = {
        "os": simulation.send_seconds,
        "ois": simulation.send_seconds,
        "or": simulation.receive_seconds,
    }
    return [f"--cfg=smpi/{name}:0:{seconds!r}:0" for name, seconds in values.items()]


def platform(simulation: Simulation, placement: Placement) -> str:
    """The platform file of SimGrid, whose nodes have a core for each of their ranks: numbered
    through in the order in which the topology has them, filled by ranks one after the other. Raises
    UsageError where it is somebody's and cannot be read."""
    if simulation.platform:
        try:
            return user_files.text(simulation.platform)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"platform = {simulation.platform}: {error}") from error
    # The near values are for messages inside a node; with one rank, for messages to itself.
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-{placement.nodes - 1}" speed="1Gf"
           bw="{simulation.bandwidth_bytes_per_second!r}Bps" lat="{simulation.latency_seconds!r}s"
           {_middle(simulation, placement.nodes)}
           core="{placement.ppn}" loopback_lat="{simulation.near_latency_seconds!r}s"\
 loopback_bw="{simulation.near_bandwidth_bytes_per_second!r}Bps"/>
</platform>
"""


def _middle(simulation: Simulation, nodes: int) -> str:
    """Return what joins the links of the nodes."""
    match simulation.topology, simulation.shape:
        case "fat-tree", [of_leaf, leaves, above]:  # every leaf switch has a link to all above
            name, parameters = "FAT_TREE", f"2;{of_leaf},{leaves};1,{above};1,1"
        case "dragonfly", [groups, chassis, routers, own]:  # one link between any two of each kind
            name, parameters = "DRAGONFLY", f"{groups},1;{chassis},1;{routers},1;{own}"
        case "torus", shape:
            name, parameters = "TORUS", ",".join(map(str, shape))
        case _:
            # The switch is as fast as all links together, and its messages never share bandwidth.
            switch = nodes * simulation.bandwidth_bytes_per_second
            return (
                f'bb_bw="{switch!r}Bps" bb_lat="{simulation.switch_latency_seconds!r}s"\n'
                '           bb_sharing_policy="FATPIPE"'
            )
    return f'topology="{name}" topo_parameters="{parameters}"'


# Names of hosts in a platform file.
_HOST = re.compile(r"""<host\s[^>]*?\bid=["']([^"']+)["']""")
_CLUSTER = re.compile(r"<cluster\s[^>]*>")


def hostfile(simulation: Simulation, placement: Placement) -> str:
    """A line a rank, node after node. Raises UsageError where a file of somebody's has too few."""
    if not simulation.platform:
        return "".join(f"node-{node}\n" * placement.ppn for node in range(placement.nodes))
    names = hosts(platform(simulation, placement))
    if len(names) < placement.nodes:
        raise UsageError(
            f"platform = {simulation.platform}: {placement.nodes} nodes are asked for (nodes, or "
            f"a node a rank), and it has {len(names)}"
        )
    return "".join(f"{name}\n" * placement.ppn for name in names[: placement.nodes])


def hosts(text: str) -> list[str]:
    """The hosts of a platform file, those of its clusters first."""
    names = []
    for cluster in _CLUSTER.findall(text):
        words = dict(re.findall(r"""\b(prefix|suffix|radical)=["']([^"']*)["']""", cluster))
        for part in words.get("radical", "").split(","):
            first, _, last = part.partition("-")
            if first.isdigit() and (last or first).isdigit():
                names += [
                    f"{words.get('prefix', '')}{number}{words.get('suffix', '')}"
                    for number in range(int(first), int(last or first) + 1)
                ]
    return names + _HOST.findall(text)


def machine(simulation: Simulation, placement: Placement) -> Machine:
    """Return what the database knows the machine by: its platform, whichever library is re-created
    on it and whichever machine simulates it."""
    description = f"{simulation.topology} of {placement.nodes} nodes"
    if simulation.shape:
        description += f" ({' x '.join(map(str, simulation.shape))})"
    links = (
        f"links of {1e6 * simulation.latency_seconds:g} µs and "
        f"{simulation.bandwidth_bytes_per_second / 1e9:g} GB/s"
    )
    if simulation.topology == "cluster":
        links += f", switch of {1e6 * simulation.switch_latency_seconds:g} µs"
    if simulation.platform:
        description, links = f"platform {Path(simulation.platform).name}", "as its file says"
    messages = (
        f"{1e6 * simulation.send_seconds:g} µs to send and "
        f"{1e6 * simulation.receive_seconds:g} µs to receive"
    )
    facts = [platform(simulation, placement), *overheads(simulation)]
    return Machine(
        id=hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16],
        host=f"simulated {description}",
        cpu_model=f"{links}, {messages}, computation takes no time",
        processing_units=placement.ppn,
        numa_nodes=1,
        memory_bytes=0,
        kernel="",
        system="SimGrid",
    )
