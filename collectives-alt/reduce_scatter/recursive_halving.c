/* Reduce_scatter by recursive halving: peers exchange halves of what is left of the vector.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005. Counts may be uneven, and 0.
 * Cost, p a power of two: log2 p a + (p-1)/p n b + (p-1)/p n g. Else p - 2^k ranks send their
 * vector to a neighbour first, which adds a + n b + n g, and get their block from it.
 * Restrictions: none. A commutative operation starts with the farthest peer, so that halves are
 * runs of blocks. Any other starts with the nearest, on a copy of the vector with blocks in
 * bit-reversed order: its order is kept.
 * Messages: log2 p a rank, on the private communicator; empty ones are not sent.
 * Scratch: two vectors. */
#include "reductions.h"

PL_DESCRIBE(PL_ALGORITHM, reduce_scatter, reduce_scatter_recursive_halving,
            pl_reduce_scatter_by_halving,
            "recursive halving, ceil(log2 p) rounds (Thakur et al. 2005)", .scratch_volumes = 3);
