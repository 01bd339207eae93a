"""SimGrid 3.32, in as much as is read of it."""

from __future__ import annotations

from tests.tuner.families.installations import CC

FILES = {
    "bin/smpirun": """#!/bin/sh
case $1 in
-version) echo "SimGrid version 3.32" ;;
-git-version) echo "none, release version" ;;
*) exit 1 ;;
esac
""",
    "bin/smpicc": CC,
    "include/mpi.h": "#define SMPI_H\n",
    "include/simgrid/version.h": """#define SIMGRID_VERSION_MAJOR 3
#define SIMGRID_VERSION_MINOR 32
""",
}
