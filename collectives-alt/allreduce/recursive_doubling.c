/* Allreduce by recursive doubling: peers at distance 1, 2, 4, … exchange their results.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
 * Cost, p a power of two: log2 p (a + n b + n g). Else p - 2^k ranks send their vector to a
 * neighbour first and get the result from it, which adds 2 (a + n b) + n g.
 * Restrictions: none. Partial results are over runs of ranks: the order is kept.
 * Messages: log2 p a rank, on the private communicator.
 * Scratch: one vector. */
#include "reductions.h"

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_recursive_doubling, pl_allreduce_by_doubling,
            "recursive doubling, ceil(log2 p) rounds of the whole vector (Thakur et al. 2005)",
            .scratch_volumes = 2);
