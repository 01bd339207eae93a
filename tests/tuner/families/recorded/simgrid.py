"""SimGrid 3.32, in as much as is read of it: what it is, its options, and the algorithms that it
names when it is asked for one that does not exist."""

from __future__ import annotations

from tests.tuner.families.installations import CC

COLLECTIVES = {
    "allgather": (
        "default, 2dmesh, 3dmesh, bruck, GB, loosely_lr, NTSLR, NTSLR_NB, pair, rdb, rhv, "
        "ring, SMP_NTS, smp_simple, spreading_simple, ompi, ompi_neighborexchange, mvapich2, "
        "mvapich2_smp, mpich, impi, automatic"
    ),
    "allgatherv": (
        "default, GB, pair, ring, ompi, ompi_neighborexchange, ompi_bruck, mpich, mpich_rdb, "
        "mpich_ring, mvapich2, impi, automatic"
    ),
    "allreduce": (
        "default, lr, rab1, rab2, rab_rdb, rdb, smp_binomial, smp_binomial_pipeline, "
        "smp_rdb, smp_rsag, smp_rsag_lr, smp_rsag_rab, redbcast, ompi, ompi_ring_segmented, "
        "mpich, mvapich2, mvapich2_rs, mvapich2_two_level, impi, rab, automatic"
    ),
    "alltoall": (
        "default, 2dmesh, 3dmesh, basic_linear, bruck, pair, pair_rma, pair_light_barrier, "
        "pair_mpi_barrier, pair_one_barrier, rdb, ring, ring_light_barrier, "
        "ring_mpi_barrier, ring_one_barrier, mvapich2, mvapich2_scatter_dest, ompi, mpich, "
        "impi, automatic"
    ),
    "alltoallv": (
        "default, bruck, pair, pair_light_barrier, pair_mpi_barrier, pair_one_barrier, ring, "
        "ring_light_barrier, ring_mpi_barrier, ring_one_barrier, ompi, mpich, "
        "ompi_basic_linear, mvapich2, impi, automatic"
    ),
    "barrier": (
        "default, ompi, ompi_basic_linear, ompi_two_procs, ompi_tree, ompi_bruck, "
        "ompi_recursivedoubling, ompi_doublering, mpich_smp, mpich, mvapich2_pair, mvapich2, "
        "impi, automatic"
    ),
    "bcast": (
        "default, arrival_pattern_aware, arrival_pattern_aware_wait, arrival_scatter, "
        "binomial_tree, flattree, flattree_pipeline, NTSB, NTSL, NTSL_Isend, "
        "scatter_LR_allgather, scatter_rdb_allgather, SMP_binary, SMP_binomial, SMP_linear, "
        "ompi, ompi_split_bintree, ompi_pipeline, mpich, mvapich2, mvapich2_inter_node, "
        "mvapich2_intra_node, mvapich2_knomial_intra_node, impi, automatic"
    ),
    "gather": (
        "default, ompi, ompi_basic_linear, ompi_binomial, ompi_linear_sync, mpich, mvapich2, "
        "mvapich2_two_level, impi, automatic"
    ),
    "reduce": (
        "default, arrival_pattern_aware, binomial, flat_tree, NTSL, scatter_gather, ompi, "
        "ompi_chain, ompi_pipeline, ompi_basic_linear, ompi_in_order_binary, ompi_binary, "
        "ompi_binomial, mpich, mvapich2, mvapich2_knomial, mvapich2_two_level, impi, rab, "
        "automatic"
    ),
    "reduce_scatter": (
        "default, ompi, ompi_basic_recursivehalving, ompi_ring, ompi_butterfly, mpich, "
        "mpich_pair, mpich_rdb, mpich_noncomm, mvapich2, impi, automatic"
    ),
    "scatter": (
        "default, ompi, ompi_basic_linear, ompi_linear_nb, ompi_binomial, mpich, mvapich2, "
        "mvapich2_two_level_binomial, mvapich2_two_level_direct, impi, automatic"
    ),
}

# Type and value by name.
OPTIONS = {
    "smpi/IB-penalty-factors": ("string", "0.965;0.925;1.35"),
    "smpi/async-small-thresh": ("int", "0"),
    "smpi/auto-shared-malloc-thresh": ("double", "0"),
    "smpi/bw-factor": (
        "string",
        "65472:0.940694;15424:0.697866;9376:0.58729;5776:1.08739;3484:0.77493;1426:0.608902;"
        "732:0.341987;257:0.338112;0:0.812084",
    ),
    "smpi/coll-selector": ("string", "default"),
    "smpi/comp-adjustment-file": ("string", ""),
    "smpi/cpu-threshold": ("double", "1e-06"),
    "smpi/display-allocs": ("boolean", "0"),
    "smpi/display-timing": ("boolean", "0"),
    "smpi/errors-are-fatal": ("boolean", "1"),
    "smpi/finalization-barrier": ("boolean", "0"),
    "smpi/grow-injected-times": ("boolean", "1"),
    "smpi/host-speed": ("string", "20000f"),
    "smpi/hostfile": ("string", "hosts"),
    "smpi/init": ("double", "0"),
    "smpi/iprobe": ("double", "0.0001"),
    "smpi/iprobe-cpu-usage": ("double", "1"),
    "smpi/keep-temps": ("boolean", "0"),
    "smpi/lat-factor": (
        "string",
        "65472:11.6436;15424:3.48845;9376:2.59299;5776:2.18796;3484:1.88101;1426:1.61075;"
        "732:1.9503;257:1.95341;0:2.01467",
    ),
    "smpi/list-leaks": ("int", "-1"),
    "smpi/map": ("int", "0"),
    "smpi/np": ("int", "1"),
    "smpi/ois": ("string", "0:0:0:0:0"),
    "smpi/or": ("string", "0:0:0:0:0"),
    "smpi/os": ("string", "0:0:0:0:0"),
    "smpi/pedantic": ("boolean", "0"),
    "smpi/privatization": ("string", "1"),
    "smpi/privatize-libs": ("string", ""),
    "smpi/replay": ("string", ""),
    "smpi/send-is-detached-thresh": ("int", "65536"),
    "smpi/shared-malloc": ("string", "global"),
    "smpi/shared-malloc-blocksize": ("double", "1.04858e+06"),
    "smpi/shared-malloc-hugepage": ("string", ""),
    "smpi/simulate-computation": ("boolean", "1"),
    "smpi/test": ("double", "0.0001"),
    "smpi/tmpdir": ("string", "/tmp"),
    "smpi/trace-call-location": ("boolean", "0"),
    "smpi/trace-call-use-absolute-path": ("boolean", "0"),
    "smpi/wtime": ("double", "1e-08"),
}

_HELP = "".join(
    f"   {name}: something\n       Type: {type}; Current value: {value}\n"
    for name, (type, value) in OPTIONS.items()
) + "".join(
    f"   smpi/{name}: Which collective to use for {name}\n       Type: string; Current value: \n"
    for name in COLLECTIVES
)

FILES = {
    "bin/smpirun": """#!/bin/sh
here=${0%/*}/../share
case $1 in
-version) echo "SimGrid version 3.32" && exit ;;
-git-version) echo "none, release version" && exit ;;
esac
for last; do :; done
case $last in
--help) cat "$here/help" ;;
--cfg=smpi/*:no_such_algorithm)
    name=${last#--cfg=smpi/}
    cat "$here/${name%%:*}" >&2
    exit 134
    ;;
*) exit 1 ;;
esac
""",
    "bin/smpicc": CC,
    "include/mpi.h": "#define SMPI_H\n",
    "include/simgrid/version.h": """#define SIMGRID_VERSION_MAJOR 3
#define SIMGRID_VERSION_MINOR 32
""",
    "share/help": "Description of the configuration accepted by this simulator:\n" + _HELP,
} | {
    f"share/{name}": f"[root/CRITICAL] Collective '{name}' has no algorithm 'no_such_algorithm'! "
    f"Valid algorithms: {listed}.\n"
    for name, listed in COLLECTIVES.items()
}
