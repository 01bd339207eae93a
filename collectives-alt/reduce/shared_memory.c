/* Reduce in memory that the ranks of a node share: the root reads the operands of all, or parts of
 * the result.
 *
 * Source: Li, Hoefler, Hu, Snir, "Improved MPI collectives for MPI processes in shared address
 * spaces", Cluster Computing 17, 2014.
 * Cost: as of Allreduce; only the root reads the result.
 * Restrictions: all ranks on one node, else the call is left to the library; the operation must be
 * one of MPI's own, the datatype predefined and contiguous; the order of ranks is kept. Scratch:
 * none; 1.1 MiB of each rank are shared. */
#include "shared.h"

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_shared_memory, pl_shared_reduce,
            "the root reads the operands of all, or parts of the result (one node)",
            .restrictions = PL_ONE_NODE | PL_CONTIGUOUS | PL_BUILTIN_TYPE | PL_BUILTIN_OP);
