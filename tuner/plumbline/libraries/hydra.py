"""Options of hydra, the mpiexec of MPICH and of what is made from it (MVAPICH, Intel MPI).

Where ranks go is said here for all of them, and how MPICH's own hydra binds them. Intel MPI and
MVAPICH2 bind in the library and are asked by variables (`-genv`), which their families hand in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plumbline.core.reach import Reach
from plumbline.system.placement import Placement

# What an exported file sets for ranks and their mpiexec (exporters/plumbline_exporters/hydra.py).
OURS = (
    *("HYDRA_CONFIG_FILE", "LD_PRELOAD"),
    *("PLUMBLINE_CALLS", "PLUMBLINE_PROFILE", "PLUMBLINE_REPORT"),
)


def words(
    placement: Placement, reach: Reach | None = None, *, binding: Sequence[str] = ()
) -> list[str]:
    """Options that start the ranks of `placement`. `binding` are those by which they are bound."""
    found = ["-n", str(placement.nprocs)]
    if placement.nodes > 1 or reach is not None:
        # One at a time is one rank a node, and round again.
        found += ["-ppn", "1" if placement.map_by == "node" else str(placement.ppn)]
    if reach is not None:
        # As `ssh`, hydra puts an option of ssh's own before the host.
        launcher = "ssh" if Path(reach.agent).name == "ssh" else "rsh"
        found += ["-hosts", ",".join(reach.names[: placement.nodes])]
        found += ["-launcher", launcher, "-launcher-exec", reach.agent]
        if reach.interface:
            found += ["-iface", reach.interface]
    return [*found, *binding]


def mpich_binding(placement: Placement) -> list[str]:
    """How MPICH's own hydra is asked to bind; nothing where that is left to it (it does not, with
    more ranks than cores or fewer)."""
    if not placement.binding:
        return []
    found = ["-bind-to", placement.binding]
    if placement.map_by not in ("", "node") and placement.binding != "none":
        found += ["-map-by", placement.map_by]
    return found
