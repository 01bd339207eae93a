"""Functions inside MVAPICH2 2.x that are the algorithms which its variables number: its source,
src/mpi/coll/*_tuning.c of 2.3.7. A canary makes them refuse (PLUMBLINE_REFUSES): then the calls
fail for which the library takes the algorithm, and no others."""

from __future__ import annotations

REFUSES = "PLUMBLINE_REFUSES"  # probes/system/refuse.h

# If a number has several functions, each is called at some sizes or on some nodes: a Bcast of two
# levels ends in shared memory, and on one node it consists of that part only.
_SHARED = "MPIR_Shmem_Bcast_MV2"
FUNCTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "MV2_ALLTOALL_TUNING": {
        "0": ("MPIR_Alltoall_bruck_MV2",),
        "1": ("MPIR_Alltoall_RD_MV2",),
        "2": ("MPIR_Alltoall_Scatter_dest_MV2",),
        "3": ("MPIR_Alltoall_pairwise_MV2",),
        "4": ("MPIR_Alltoall_inplace_MV2",),
    },
    "MV2_ALLTOALLV_TUNING": {
        "0": ("MPIR_Alltoallv_intra_scatter_MV2",),
        "1": ("MPIR_Alltoallv_intra_MV2",),
    },
    "MV2_INTER_ALLGATHER_TUNING": {
        "1": ("MPIR_Allgather_RD_Allgather_Comm_MV2",),
        "2": ("MPIR_Allgather_RD_MV2",),
        "3": ("MPIR_Allgather_Bruck_MV2",),
        "4": ("MPIR_Allgather_Ring_MV2",),
        "5": ("MPIR_Allgather_Direct_MV2",),
        "6": ("MPIR_Allgather_DirectSpread_MV2",),
        "7": ("MPIR_Allgather_gather_bcast_MV2",),
        "8": ("MPIR_2lvl_Allgather_nonblocked_MV2",),
        "9": ("MPIR_2lvl_Allgather_Ring_nonblocked_MV2",),
        "10": ("MPIR_2lvl_Allgather_Direct_MV2",),
        "11": ("MPIR_2lvl_Allgather_Ring_MV2",),
    },
    "MV2_INTER_ALLGATHERV_TUNING": {
        "1": ("MPIR_Allgatherv_Rec_Doubling_MV2",),
        "2": ("MPIR_Allgatherv_Bruck_MV2",),
        "3": ("MPIR_Allgatherv_Ring_MV2",),
        "4": ("MPIR_Allgatherv_Ring_Cyclic_MV2",),
    },
    "MV2_INTER_ALLREDUCE_TUNING": {
        "1": ("MPIR_Allreduce_pt2pt_rd_MV2",),
        "2": ("MPIR_Allreduce_pt2pt_rs_MV2",),
        "8": ("MPIR_Allreduce_pt2pt_reduce_scatter_allgather_MV2",),
        "9": ("MPIR_Allreduce_pt2pt_ring_wrapper_MV2",),
        "11": ("MPIR_Allreduce_socket_aware_two_level_MV2",),
    },
    "MV2_INTER_BCAST_TUNING": {
        "1": ("MPIR_Bcast_binomial_MV2",),
        "2": ("MPIR_Bcast_binomial_MV2", _SHARED),
        "3": ("MPIR_Bcast_scatter_doubling_allgather_MV2",),
        "4": ("MPIR_Bcast_scatter_doubling_allgather_MV2", _SHARED),
        "5": ("MPIR_Bcast_scatter_ring_allgather_MV2",),
        "6": ("MPIR_Bcast_scatter_ring_allgather_MV2", _SHARED),
        "7": ("MPIR_Bcast_scatter_ring_allgather_shm_MV2", _SHARED),
        "8": ("MPIR_Knomial_Bcast_inter_node_wrapper_MV2", _SHARED),
        "9": ("MPIR_Pipelined_Bcast_MV2", _SHARED),
        "10": ("MPIR_Pipelined_Bcast_Zcpy_MV2",),
    },
    "MV2_INTER_REDUCE_TUNING": {
        "1": ("MPIR_Reduce_binomial_MV2",),
        "2": ("MPIR_Reduce_inter_knomial_wrapper_MV2",),
        "5": ("MPIR_Reduce_redscat_gather_MV2",),
        "6": ("MPIR_Reduce_Zcpy_MV2",),
        "8": ("MPIR_Reduce_allreduce_MV2",),
    },
    "MV2_INTER_RED_SCAT_TUNING": {
        "1": ("MPIR_Reduce_Scatter_Basic_MV2",),
        "2": ("MPIR_Reduce_scatter_Rec_Halving_MV2",),
        "3": ("MPIR_Reduce_scatter_Pair_Wise_MV2",),
        "4": ("MPIR_Reduce_scatter_ring",),
        "5": ("MPIR_Reduce_scatter_ring_2lvl",),
    },
    "MV2_INTER_RED_SCAT_BLOCK_TUNING": {
        "1": ("MPIR_Reduce_scatter_block_ring_MV2",),
        "2": ("MPIR_Reduce_scatter_block_ring_2lvl_MV2",),
    },
    "MV2_INTER_SCATTER_TUNING": {
        "1": ("MPIR_Scatter_MV2_Binomial",),
        "2": ("MPIR_Scatter_MV2_Direct",),
        "3": ("MPIR_Scatter_MV2_two_level_Binomial",),
        "4": ("MPIR_Scatter_MV2_two_level_Direct",),
    },
}
