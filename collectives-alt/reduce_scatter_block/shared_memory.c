/* Reduce_scatter_block in memory that the ranks of a node share: each rank reduces its block of
 * what all have written.
 *
 * Source: Li, Hoefler, Hu, Snir, "Improved MPI collectives for MPI processes in shared address
 * spaces", Cluster Computing 17, 2014.
 * Cost: n bytes written, n read and reduced on each rank.
 * Restrictions: all ranks on one node, else the call is left to the library; the operation must be
 * one of MPI's own, the datatype predefined and contiguous; the order of ranks is kept. Scratch:
 * none; 1.1 MiB of each rank are shared. */
#include "shared.h"

PL_DESCRIBE(PL_ALGORITHM, reduce_scatter_block, reduce_scatter_block_shared_memory,
            pl_shared_reduce_scatter,
            "each rank reduces its block of what all have written (one node)",
            .restrictions = PL_ONE_NODE | PL_CONTIGUOUS | PL_BUILTIN_TYPE | PL_BUILTIN_OP,
            .scratch_volumes = 1);
