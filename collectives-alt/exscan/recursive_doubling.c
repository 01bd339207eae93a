/* Exscan by recursive doubling: peers at distance 1, 2, 4, … exchange the results over their
 * groups; what comes from below is part of the prefix. Rank 0 leaves its receive buffer alone.
 *
 * Source: the recursive doubling of MPICH; Sanders, Traeff, EuroPVM/MPI 2006, for its relatives.
 * Cost: ceil(log2 p) (a + n b + 2 n g).
 * Restrictions: none. Groups are runs of ranks: the order is kept.
 * Messages: ceil(log2 p) a rank at most, on the private communicator.
 * Scratch: two vectors. */
#include "reductions.h"

PL_DESCRIBE(PL_ALGORITHM, exscan, exscan_recursive_doubling, pl_prefix_doubling,
            "recursive doubling, ceil(log2 p) rounds (MPICH)", .scratch_volumes = 3);
