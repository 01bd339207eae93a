"""Programs that start ranks, by how variables enter these: patterns of names, as sh and fnmatch
read them."""

from __future__ import annotations

import fnmatch

# They hand ranks what exported shell files list for them, and must not be preloaded themselves.
HAND_ON = ("mpirun*", "mpiexec*", "orterun", "prterun", "smpirun", "srun", "sbatch", "salloc")
# Their ranks get the environment as it is: the preload library has to be in it.
WHOLE = ("aprun", "jsrun", "lrun", "ibrun", "ccc_mprun", "flux")


def takes_all(name: str) -> bool:
    """Return whether the ranks of this program get its environment as it is."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in WHOLE)


def hands_on(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in HAND_ON)
