/* Scatter in memory that the ranks of a node share: the root writes all blocks, and each rank reads
 * its own.
 *
 * Source: Li, Hoefler, Hu, Snir, "Improved MPI collectives for MPI processes in shared address
 * spaces", Cluster Computing 17, 2014.
 * Cost: n bytes are written, and each block is read once.
 * Restrictions: all ranks on one node, else the call is left to the library; none.
 * Scratch: with derived types a block, at the root n bytes; 1.1 MiB of each rank are shared. */
#include "shared.h"

PL_DESCRIBE(PL_ALGORITHM, scatter, scatter_shared_memory, pl_shared_scatter,
            "the root writes all blocks, and each rank reads its own (one node)",
            .restrictions = PL_ONE_NODE, .scratch_volumes = 2);
