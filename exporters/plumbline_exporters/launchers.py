"""Programs that start ranks, by how variables enter these: patterns of names, as sh and fnmatch
read them."""

from __future__ import annotations

import fnmatch

# Launchers that pass the lists of exported shell files to ranks; they must not be preloaded.
HAND_ON = ("mpirun*", "mpiexec*", "orterun", "prterun", "smpirun", "srun", "sbatch", "salloc")
# Launchers whose ranks get the environment unchanged, so it must contain the preload library.
WHOLE = ("aprun", "jsrun", "lrun", "ibrun", "ccc_mprun", "flux")


def takes_all(name: str) -> bool:
    """Return whether the ranks of this program get its environment as it is."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in WHOLE)


def hands_on(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in HAND_ON)
