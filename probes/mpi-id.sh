#!/bin/sh
# Prints the id of the MPI library that a compiler wrapper builds for: openmpi-4.1.4, mpich-5.0.2,
# mvapich2-2.3.7, intelmpi-2021.17.2, simgrid-3.32 …
# usage: mpi-id.sh MPICC
set -eu
# Intel MPI's wrapper looks for headers and libraries under I_MPI_ROOT (cflags.mk says so too).
wrapper=$(command -v "$1") || wrapper=$1
I_MPI_ROOT=${I_MPI_ROOT:-${wrapper%/*}/..}
export I_MPI_ROOT
# What a library is made from stands behind it: it defines that one's version too.
id=$(printf '%s\n' '#include <mpi.h>' \
    '#if defined(OMPI_MAJOR_VERSION)' \
    'PL_ID openmpi - OMPI_MAJOR_VERSION . OMPI_MINOR_VERSION . OMPI_RELEASE_VERSION' \
    '#elif defined(I_MPI_VERSION)' \
    'PL_ID intelmpi - I_MPI_VERSION' \
    '#elif defined(MVAPICH2_VERSION)' \
    'PL_ID mvapich2 - MVAPICH2_VERSION' \
    '#elif defined(MVAPICH_VERSION)' \
    'PL_ID mvapich - MVAPICH_VERSION' \
    '#elif defined(MPICH_VERSION)' \
    'PL_ID mpich - MPICH_VERSION' \
    '#elif defined(SMPI_H)' \
    '#include <simgrid/version.h>' \
    'PL_ID simgrid - SIMGRID_VERSION_MAJOR . SIMGRID_VERSION_MINOR' \
    '#endif' | "$1" -E -P -x c - | sed -n 's/^PL_ID //p' | tr -d ' "')
[ -n "$id" ] || { echo "unknown MPI library behind $1" >&2; exit 1; }
echo "$id"
