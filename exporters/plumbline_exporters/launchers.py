"""Programs that start ranks, by how variables enter these: patterns of names, as sh and fnmatch read
them."""

from __future__ import annotations

# They hand ranks what exported shell files list for them, and must not be preloaded themselves.
HAND_ON = ("mpirun*", "mpiexec*", "orterun", "prterun", "smpirun", "srun", "sbatch", "salloc")
# Their ranks get the environment as it is: the preload library has to be in it.
WHOLE = ("aprun", "jsrun", "lrun", "ibrun", "ccc_mprun", "flux")
