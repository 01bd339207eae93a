/* Allgather in memory that the ranks of a node share: each rank writes its block, and all read
 * them.
 *
 * Source: Li, Hoefler, Hu, Snir, "Improved MPI collectives for MPI processes in shared address
 * spaces", Cluster Computing 17, 2014.
 * Cost: each block is written once and read p - 1 times.
 * Restrictions: all ranks on one node, else the call is left to the library; none.
 * Scratch: with derived types a block and n bytes; 1.1 MiB of each rank are shared. */
#include "shared.h"

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_shared_memory, pl_shared_allgather,
            "each rank writes its block, and all read them (one node)", .restrictions = PL_ONE_NODE,
            .scratch_volumes = 2);
