"""MPICH 5.0.2, in as much as is read of it: what `mpichversion` and hydra say, some variables as
the probe reports them, and the library with tables of algorithms as text in it."""

from __future__ import annotations

import json

from tests.tuner.families.installations import CC

VERSION = """MPICH Version:      5.0.2
MPICH Release date: Fri Sep 25 20:45:26 UTC 2026
MPICH ABI:          18:2:6
MPICH Device:       ch4:ucx ofi
MPICH configure:    --with-device=ch4:ucx,ofi --with-pm=hydra:gforker
MPICH CC:           cc
MPICH features:     threadcomm
"""
HYDRA = """HYDRA build details:
    Version:                                 5.0.2
"""
FALLBACK = "MPIR_CVAR_COLLECTIVE_FALLBACK"
ALLREDUCE = "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"
_NAMES = ("auto", "nb", "smp", "recursive_doubling")
SYSTEM = {
    "library": "MPICH Version:      5.0.2",
    "variables": [
        {
            "name": ALLREDUCE,
            "type": "int",
            "scope": "all-equal",
            "readable": True,
            "value": "0",
            "description": "…",
            "enumerators": [{"value": i, "name": name} for i, name in enumerate(_NAMES)],
        },
        {
            "name": "MPIR_CVAR_ALLREDUCE_TREE_KVAL",
            "type": "int",
            "scope": "all-equal",
            "readable": True,
            "value": "2",
            "description": "…",
            "enumerators": [],
        },
    ],
}
_SIZES = {
    "avg_msg_size<=8": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
    "avg_msg_size=any": {"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {}},
}
ALGORITHMS = {
    "collective=allreduce": {
        "comm_type=intra": _SIZES,
        "comm_type=inter": {"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast": {}},
    },
    "collective=allgather": {
        "comm_type=intra": {"algorithm=MPIR_Allgather_intra_ring": {}},
        "comm_type=inter": {"algorithm=MPIR_Allgather_inter_local_gather_remote_bcast": {}},
    },
    "collective=alltoall": {
        "comm_type=intra": {
            "is_sendbuf_inplace=yes": {
                "algorithm=MPIR_Alltoall_intra_pairwise_sendrecv_replace": {}
            },
            "is_sendbuf_inplace=no": {"algorithm=MPIR_Alltoall_intra_scattered": {}},
        },
        "comm_type=inter": {"algorithm=MPIR_Alltoall_inter_pairwise_exchange": {}},
    },
    "collective=gatherv": {"algorithm=MPIR_Gatherv_allcomm_linear": {}},
    "collective=scan": {"comm_type=intra": {"algorithm=MPIR_Scan_intra_smp": {}}},
}
COMPOSITIONS = {
    "collective=allreduce": {
        "comm_type=intra": {"composition=MPIDI_Allreduce_intra_composition_gamma": {}}
    },
    "collective=scan": {"composition=MPIDI_Scan_intra_composition_alpha": {}},
}
FILES = {
    "bin/mpichversion": '#!/bin/sh\ncat "${0%/bin/*}/version"\n',
    "bin/mpirun": '#!/bin/sh\n[ "$1" = -version ] && cat "${0%/bin/*}/hydra"\n',
    "bin/mpicc": CC,
    "include/mpi.h": '#define MPICH_VERSION "5.0.2"\n',
    "version": VERSION,
    "hydra": HYDRA,
    "lib/libmpi.so.12": "ELF\0"
    + "\0".join(json.dumps(one, separators=(",", ":")) for one in (ALGORITHMS, COMPOSITIONS))
    + "\0",
    "libexec/plumbline/mpich-5.0.2/probe": '#!/bin/sh\n[ "$1" = system ] && cat "${0%/*}/system"\n',
    "libexec/plumbline/mpich-5.0.2/system": json.dumps(SYSTEM),
}
