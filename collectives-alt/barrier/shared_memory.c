/* Barrier in memory that the ranks of a node share: each rank writes a number that all others read.
 *
 * Source: Li, Hoefler, Hu, Snir, "Improved MPI collectives for MPI processes in shared address
 * spaces", Cluster Computing 17, 2014.
 * Cost: 2 (p-1) cache lines pass between cores.
 * Restrictions: all ranks on one node, else the call is left to the library; none.
 * Scratch: none; 1.1 MiB of each rank are shared. */
#include "shared.h"

PL_DESCRIBE(PL_ALGORITHM, barrier, barrier_shared_memory, pl_shared_barrier,
            "each rank writes a number that all others read (one node)",
            .restrictions = PL_ONE_NODE);
