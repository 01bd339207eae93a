"""MVAPICH2 2.3.7. Nobody ran it here: what its programs say has the form of their source and of
reports by users, the values are those of a build for one node, and the report of variables is a
part of one. mpiexec runs the program once, and says MV2_* to who asks with MV2_RECORD=FILE."""

from __future__ import annotations

from tests.tuner.families.installations import CC

MPINAME = """MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022 ch3:mrail

Compilation
CC: gcc    -DNDEBUG -DNVALGRIND -O2
CXX: g++   -DNDEBUG -DNVALGRIND -O2
F77: gfortran   -O2
FC: gfortran   -O2

Configuration
--prefix=/opt/mvapich2 --with-device=ch3:mrail
--disable-mcast

"""
MPICHVERSION = """MVAPICH2 Version:     \t2.3.7
MVAPICH2 Release date:\tWed March 02 22:00:00 EST 2022
MVAPICH2 Device:      \tch3:mrail
MVAPICH2 configure:   \t--prefix=/opt/mvapich2 --with-device=ch3:mrail --disable-mcast
MVAPICH2 CC:  \tgcc    -DNDEBUG -DNVALGRIND -O2
MVAPICH2 CXX: \tg++   -DNDEBUG -DNVALGRIND -O2
MVAPICH2 F77: \tgfortran   -O2
MVAPICH2 FC:  \tgfortran   -O2
"""
REPORT = """
 MVAPICH2-2.3.7 Parameters
---------------------------------------------------------------------
\tPROCESSOR ARCH NAME            : MV2_ARCH_INTEL_GENERIC
\tPROCESSOR FAMILY NAME          : MV2_CPU_FAMILY_INTEL
\tPROCESSOR MODEL NUMBER         : 79
\tHCA NAME                       : MV2_HCA_ANY
\tHeterogeneity                  : NO
\tMV2_VBUF_TOTAL_SIZE            : 17408
\tMV2_IBA_EAGER_THRESHOLD        : 17408
\tMV2_RDMA_FAST_PATH_BUF_SIZE    : 5120
---------------------------------------------------------------------
\tMV2_DEFAULT_PORT                    : 1
\tMV2_COALESCE_THRESHOLD              : 6
\tMV2_USE_SHMEM_COLL                  : 1
\tMV2_USE_SHMEM_ALLREDUCE             : 1
\tMV2_USE_SHMEM_BARRIER               : 1
\tMV2_USE_SHMEM_REDUCE                : 1
\tMV2_SHMEM_COLL_NUM_COMM             : 32
\tMV2_SHMEM_COLL_MAX_MSG_SIZE         : 32768
\tMV2_USE_OSU_COLLECTIVES             : 1
\tMV2_KNOMIAL_INTRA_NODE_THRESHOLD    : 131072
\tMV2_ALLTOALL_THROTTLE_FACTOR        : 32
---------------------------------------------------------------------
"""
VARIABLES = (
    '{"probe":"0.1.0","variables":['
    '{"name":"MPIR_CVAR_BCAST_COLLECTIVE_ALGORITHM","type":"int","scope":"all equal",'
    '"readable":true,"value":"-1","description":"","enumerators":[]},'
    '{"name":"MPIR_CVAR_BCAST_SHORT_MSG_SIZE","type":"int","scope":"all equal",'
    '"readable":true,"value":"12288","description":"","enumerators":[]}]}'
)

FILES = {
    "bin/mpiname": '#!/bin/sh\n[ "$1" = -a ] && cat "${0%/bin/*}/mpiname"\n',
    "bin/mpichversion": '#!/bin/sh\ncat "${0%/bin/*}/mpichversion"\n',
    "bin/mpiexec": """#!/bin/sh
if [ -n "${MV2_RECORD-}" ]; then env | sed -n '/^MV2_/p' >>"$MV2_RECORD"; fi
if [ "${MV2_SHOW_ENV_INFO-}" = 2 ]; then cat "${0%/bin/*}/report" >&2; fi
while true; do
    case $1 in
    -n | -ppn) shift 2 ;;
    -genv) shift 3 ;;
    *) break ;;
    esac
done
exec "$@"
""",
    "bin/mpirun_rsh": "#!/bin/sh\nexit 1\n",
    "bin/mpicc": CC,
    "include/mpi.h": '#define MPICH_VERSION "3.2.1"\n#define MVAPICH2_VERSION "2.3.7"\n',
    "libexec/plumbline/mvapich2-2.3.7/probe": f"#!/bin/sh\necho '{VARIABLES}'\n",
    "mpiname": MPINAME,
    "mpichversion": MPICHVERSION,
    "report": REPORT,
}
