/* Reduce as reduce-scatter by halving, then a gather on a Bine tree: as reduce_rabenseifner, but
 * with peers that are nearer.
 *
 * Source: De Sensi et al., "Bine Trees", SC 2025; Rabenseifner, ICCS 2004.
 * Cost, p a power of two: 2 log2 p a + 2 (p-1)/p n b + (p-1)/p n g. Else p - 2^k ranks send their
 * vector to a neighbour first, which adds a + n b + n g.
 * Restrictions: MPI's own operations, since the vector is cut; they commute, as the peers ask.
 * Messages: 2 log2 p a rank at most, on the private communicator; blocks differ by at most one
 * element, and empty ones are not sent.
 * Scratch: two vectors, one at the root. */
#include "halving.h"

static int run(const struct pl_call *call)
{
    return pl_reduce_by_halving(call, &pl_swing);
}

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_bine_halving, run,
            "halving, then a gather on a Bine tree (SC 2025)", .restrictions = PL_BUILTIN_OP,
            .scratch_volumes = 3, .least_ranks = 4);
