"""Options of hydra, the mpiexec of MPICH and of what is made from it (MVAPICH, Intel MPI).

Where ranks go is said here for all of them, and how MPICH's own hydra binds them. Intel MPI and
MVAPICH2 bind in the library and are asked by variables (`-genv`), which their families hand in."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from plumbline.core.reach import Reach
from plumbline.libraries import Family, Installation, into_ranks
from plumbline.system.placement import Placement
from plumbline_db import user_files
from plumbline_db.errors import PlumblineError

CONFIG_FILE = "HYDRA_CONFIG_FILE"
# The variables that an exported file sets for ranks and their mpiexec.
OURS = (CONFIG_FILE, *into_ranks.VARIABLES)


def words(
    placement: Placement, reach: Reach | None = None, *, binding: Sequence[str] = ()
) -> list[str]:
    """Options that start the ranks of `placement`. `binding` are those by which they are bound."""
    options = ["-n", str(placement.nprocs)]
    if placement.nodes > 1 or reach is not None:
        # Placing by node puts one rank on each node in turn.
        options += ["-ppn", "1" if placement.map_by == "node" else str(placement.ppn)]
    if reach is not None:
        # If the launcher is called `ssh`, hydra passes an option of ssh before the host.
        launcher = "ssh" if Path(reach.agent).name == "ssh" else "rsh"
        options += ["-hosts", ",".join(reach.names[: placement.nodes])]
        options += ["-launcher", launcher, "-launcher-exec", reach.agent]
        if reach.interface:
            options += ["-iface", reach.interface]
    return [*options, *binding]


def mpich_binding(placement: Placement) -> list[str]:
    """Return how MPICH's own hydra is asked to bind; nothing where that is left to it (it does not,
    with more ranks than cores or fewer)."""
    if not placement.binding:
        return []
    options = ["-bind-to", placement.binding]
    if placement.map_by not in ("", "node") and placement.binding != "none":
        options += ["-map-by", placement.map_by]
    return options


class Started(Family):
    """A family whose ranks hydra starts."""

    launcher_prefixes: tuple[str, ...] = ("HYDRA_",)
    rank_lists: ClassVar[tuple[str, ...]] = ()

    def into_ranks(
        self,
        installation: Installation,
        library: Path,
        variables: Mapping[str, str],
        given: Mapping[str, str],
        folder: Path,
    ) -> dict[str, str]:
        """Return by a file of options: one line, without quotes. The variables are carried
        anyway."""
        del installation
        before = given.get(CONFIG_FILE)
        preloaded_before = given.get("LD_PRELOAD", "")
        options = ""
        if before:
            try:
                lines = user_files.text(before).splitlines()
            except (OSError, ValueError) as error:
                raise PlumblineError(
                    f"{CONFIG_FILE} names {before}, which cannot be read: {error}; unset it"
                ) from error
            options = " ".join(line for line in lines if not line.lstrip().startswith("#")).strip()
            named = re.findall(r"-genv\s+LD_PRELOAD\s+(\S+)", options)
            preloaded_before = named[-1] if named else preloaded_before
            options = re.sub(r"-genv\s+LD_PRELOAD\s+\S+\s*", "", options)
        path = folder / "ranks.hydra"
        words = (
            f"-genv LD_PRELOAD {into_ranks.preloaded_before(library, preloaded_before)} {options}"
        )
        path.write_bytes(os.fsencode(words.strip() + "\n"))
        return {CONFIG_FILE: str(path), **variables}
