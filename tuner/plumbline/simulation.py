"""A simulated machine in a few numbers: what SimGrid is told of it, and who it is in the database.

Pure: numbers in, text out. How it is started is in launch/simulated.py, which library is
re-created on it in libraries/simgrid.py; docs/simulated.md says what all of it is worth."""

from __future__ import annotations

import hashlib
from typing import Literal, get_args

import msgspec

from plumbline_db.errors import UsageError
from plumbline_db.records import Machine

# SMPI re-creates the decisions of these libraries (smpi/coll-selector).
Selector = Literal["ompi", "mpich", "mvapich2", "impi"]
SELECTORS: tuple[str, ...] = get_args(Selector)

NPROCS = 32


class Simulation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `simulate` of a campaign file. `library` is the library whose decisions are
    re-created. The machine has a node of one core for each rank; a link of `latency_seconds` and
    `bandwidth_bytes_per_second` in each direction from every node to a switch, which never blocks
    and adds `switch_latency_seconds`. A message takes its sender `send_seconds` and its receiver
    `receive_seconds` of their own time; other computation takes none."""

    library: Selector
    latency_seconds: float = 5e-6
    bandwidth_bytes_per_second: float = 1.25e9
    switch_latency_seconds: float = 1e-6
    # As calibrated for small messages on a cluster with links of 10 Gbit/s (docs/simulated.md).
    send_seconds: float = 5.8e-6
    receive_seconds: float = 4.5e-6

    def __post_init__(self) -> None:
        legal = {
            "latency_seconds": (0 < self.latency_seconds < 1, "seconds above 0, below 1 (5e-6)"),
            "switch_latency_seconds": (
                0 <= self.switch_latency_seconds < 1,
                "seconds from 0 on, below 1 (1e-6)",
            ),
            "send_seconds": (0 <= self.send_seconds < 1, "seconds from 0 on, below 1 (5.8e-6)"),
            "receive_seconds": (
                0 <= self.receive_seconds < 1,
                "seconds from 0 on, below 1 (4.5e-6)",
            ),
            "bandwidth_bytes_per_second": (
                1e3 <= self.bandwidth_bytes_per_second < 1e15,
                "bytes per second, from 1e3 on, below 1e15 (1.25e9)",
            ),
        }
        for key, (fine, what) in legal.items():
            if not fine:
                raise ValueError(f"{key} = {getattr(self, key)!r}: it must be {what}")


def known(selector: str) -> str:
    """`selector`, if there is such a one. Raises UsageError."""
    if selector not in SELECTORS:
        raise UsageError(f"no library {selector} to simulate; there are {', '.join(SELECTORS)}")
    return selector


def platform(simulation: Simulation, nodes: int) -> str:
    """The platform file of SimGrid."""
    # The switch is as fast as all links together, and what passes it never shares.
    switch = nodes * simulation.bandwidth_bytes_per_second
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-{nodes - 1}" speed="1Gf"
           bw="{simulation.bandwidth_bytes_per_second!r}Bps" lat="{simulation.latency_seconds!r}s"
           bb_bw="{switch!r}Bps" bb_lat="{simulation.switch_latency_seconds!r}s"
           bb_sharing_policy="FATPIPE"/>
</platform>
"""


def overheads(simulation: Simulation) -> list[str]:
    """Options of smpirun: what each message costs its sender (blocking or not) and its receiver,
    whatever its size."""
    values = {
        "os": simulation.send_seconds,
        "ois": simulation.send_seconds,
        "or": simulation.receive_seconds,
    }
    return [f"--cfg=smpi/{name}:0:{seconds!r}:0" for name, seconds in values.items()]


def hostfile(nodes: int) -> str:
    """One rank a node."""
    return "".join(f"node-{node}\n" for node in range(nodes))


def machine(simulation: Simulation, nodes: int) -> Machine:
    """What the database knows the machine by: its platform, whichever library is re-created on it
    and whichever machine simulates it."""
    facts = [platform(simulation, nodes), *overheads(simulation)]
    return Machine(
        id=hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16],
        host=f"simulated cluster of {nodes} nodes",
        cpu_model=(
            f"links of {1e6 * simulation.latency_seconds:g} µs and "
            f"{simulation.bandwidth_bytes_per_second / 1e9:g} GB/s, switch of "
            f"{1e6 * simulation.switch_latency_seconds:g} µs, {1e6 * simulation.send_seconds:g} µs "
            f"to send and {1e6 * simulation.receive_seconds:g} µs to receive, computation takes no "
            "time"
        ),
        processing_units=1,
        numa_nodes=1,
        memory_bytes=0,
        kernel="",
        system="SimGrid",
    )
