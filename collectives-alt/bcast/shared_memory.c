/* Bcast in memory that the ranks of a node share: the root writes, the others read.
 *
 * Source: Li, Hoefler, Hu, Snir, "Improved MPI collectives for MPI processes in shared address
 * spaces", Cluster Computing 17, 2014.
 * Cost: n bytes written once and read p - 1 times.
 * Restrictions: all ranks on one node, else the call is left to the library; none.
 * Scratch: with a derived type n bytes; 1.1 MiB of each rank are shared. */
#include "shared.h"

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_shared_memory, pl_shared_bcast,
            "the root writes, the others read (one node)", .restrictions = PL_ONE_NODE,
            .scratch_volumes = 1);
