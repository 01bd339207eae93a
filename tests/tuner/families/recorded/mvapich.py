"""MVAPICH 4.0. Nobody ran it here: what its programs say has the form of MVAPICH2's source and of
MVAPICH's documentation; its variables are a few of them."""

from __future__ import annotations

from tests.tuner.families.installations import CC

MPINAME = """MVAPICH 4.0 Fri February 16 22:00:00 EST 2024 ch4:ucx

Compilation
CC: gcc    -DNDEBUG -DNVALGRIND -O2
CXX: g++   -DNDEBUG -DNVALGRIND -O2
F77: gfortran   -O2
FC: gfortran   -O2

Configuration
--prefix=/opt/mvapich --with-device=ch4:ucx

"""
VARIABLES = (
    '{"probe":"0.1.0","variables":['
    '{"name":"MPIR_CVAR_BARRIER_INTRA_ALGORITHM","type":"enum","scope":"all equal",'
    '"readable":true,"value":"0","description":"","enumerators":['
    '{"value":0,"name":"auto"},{"value":1,"name":"dynamic"},{"value":2,"name":"nb"},'
    '{"value":6,"name":"osu_pairwise"}]},'
    '{"name":"MPIR_CVAR_BCAST_INTER_KNOMIAL_FACTOR","type":"int","scope":"all equal",'
    '"readable":true,"value":"4","description":"","enumerators":[]}]}'
)

FILES = {
    "bin/mpiname": '#!/bin/sh\n[ "$1" = -a ] && cat "${0%/bin/*}/mpiname"\n',
    "bin/mpichversion": "#!/bin/sh\necho 'MVAPICH Version: 4.0'\n",
    "bin/mpiexec": "#!/bin/sh\nexit 1\n",
    "bin/mpicc": CC,
    "include/mpi.h": '#define MPICH_VERSION "4.1.2"\n#define MVAPICH_VERSION "4.0"\n',
    "libexec/plumbline/mvapich-4.0/probe": f"#!/bin/sh\necho '{VARIABLES}'\n",
    "mpiname": MPINAME,
}
