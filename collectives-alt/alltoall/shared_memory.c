/* Alltoall in memory that the ranks of a node share: each rank writes its blocks, and reads those
 * for it.
 *
 * Source: Li, Hoefler, Hu, Snir, "Improved MPI collectives for MPI processes in shared address
 * spaces", Cluster Computing 17, 2014.
 * Cost: n bytes are written and read on each rank.
 * Restrictions: all ranks on one node, else the call is left to the library; none.
 * Scratch: with derived types 2 n bytes; 1.1 MiB of each rank are shared. */
#include "shared.h"

PL_DESCRIBE(PL_ALGORITHM, alltoall, alltoall_shared_memory, pl_shared_alltoall,
            "each rank writes its blocks, and reads those for it (one node)",
            .restrictions = PL_ONE_NODE, .scratch_volumes = 2);
