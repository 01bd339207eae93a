"""Intel MPI 2021.17.2 (the wheel), in as much as is read of it: what `mpiexec.hydra -V` and
`impi_info` say, with some of the variables."""

# ruff: noqa: E501, W291 - as they print it
from __future__ import annotations

from tests.tuner.families.installations import CC

VERSION = """Intel(R) MPI Library for Linux* OS, Version 2021.17 Build 20251215 (id: 2ac2f63)
Copyright 2003-2025, Intel Corporation.
"""
DESCRIBED = """I_MPI_DEBUG_OUTPUT
  MPI Datatype:
    MPI_CHAR

I_MPI_ADJUST_BCAST 
  MPI Datatype:
    MPI_CHAR
  Description:
    Controls bcast algorithm: Control selection of MPI_Bcast algorithm presets.
    Arguments
    <presetid> - Preset identifier
    range: 0-22 

I_MPI_ADJUST_BCAST_LIST 
  MPI Datatype:
    MPI_CHAR
  Description:
    Controls bcast algorithm filter 

I_MPI_SHM_CMA
  MPI Datatype:
    MPI_INT
  Description:
    Enable or disable CMA. 
"""
DEFAULTS = """ | NAME                                                         | DEFAULT VALUE  | DATA TYPE   |
 ===============================================================================================
 | I_MPI_ADJUST_BCAST                                           | -1             | MPI_CHAR    |
 | I_MPI_ADJUST_BCAST_LIST                                      | -1             | MPI_CHAR    |
 | I_MPI_FABRICS                                                | shm:ofi        | MPI_CHAR    |
 | I_MPI_SHM_CMA                                                | not defined    | MPI_INT     |
"""
HEADER = """#define I_MPI_VERSION "2021.17.2"
#define MPICH_VERSION "3.4a2"
"""

# impi_info is the one program that needs the library's folder in the loader's path.
FILES = {
    "bin/mpiexec.hydra": """#!/bin/sh
[ "$1" = -V ] && exec cat "${0%/bin/*}/version"
exit 1
""",
    "bin/impi_info": """#!/bin/sh
case :$LD_LIBRARY_PATH: in *:"${0%/bin/*}/lib":*) ;; *) exit 127 ;; esac
case $1 in -all) cat "${0%/bin/*}/described" ;; -expert) cat "${0%/bin/*}/defaults" ;; esac
""",
    "bin/mpicc": CC,
    "include/mpi.h": HEADER,
    "lib/libmpi.so.12": "",
    "version": VERSION,
    "described": DESCRIBED,
    "defaults": DEFAULTS,
}
