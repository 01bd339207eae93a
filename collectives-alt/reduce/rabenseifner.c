/* Reduce as reduce-scatter by recursive halving, then a binomial gather of the blocks.
 *
 * Source: Rabenseifner, ICCS 2004; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
 * Cost, p a power of two: 2 log2 p a + 2 (p-1)/p n b + (p-1)/p n g. Else p - 2^k ranks send their
 * vector to a neighbour first, which adds a + n b + n g.
 * Restrictions: MPI's own operations, since the vector is cut.
 * Messages: 2 log2 p a rank at most, on the private communicator; blocks differ by at most one
 * element, and empty ones are not sent.
 * Scratch: two vectors, one at the root. */
#include "halving.h"

static int run(const struct pl_call *call)
{
    return pl_reduce_by_halving(call, &pl_near_first);
}

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_rabenseifner, run,
            "recursive halving, then a binomial gather (Rabenseifner 2004)",
            .restrictions = PL_BUILTIN_OP, .scratch_volumes = 3);
