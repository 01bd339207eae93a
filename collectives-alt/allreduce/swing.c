/* Allreduce by Swing: reduce-scatter by halving, then allgather, as allreduce_rabenseifner, but
 * with peers that are nearer: at the distances 1, -1, 3, -5, 11, ….
 *
 * Source: De Sensi, Bonato, Saam, Hoefler, NSDI 2024, for a torus of one dimension; the butterfly
 * of Bine trees (De Sensi et al., SC 2025) is the same.
 * Cost, p a power of two: 2 log2 p a + 2 (p-1)/p n b + (p-1)/p n g. Else p - 2^k ranks send their
 * vector to a neighbour first and get the result from it, which adds 2 (a + n b) + n g.
 * Restrictions: MPI's own operations, since the vector is cut; they commute, as the peers ask.
 * Messages: 2 log2 p a rank, on the private communicator; blocks differ by at most one element,
 * and empty ones are not sent. On a ring of ranks they pass 1, 1, 3, 5, 11, … links, those of
 * recursive halving 1, 2, 4, 8, 16, ….
 * Scratch: one vector. */
#include "halving.h"

static int run(const struct pl_call *call)
{
    return pl_allreduce_by_halving(call, &pl_swing);
}

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_swing, run,
            "halving and doubling with peers on both sides in turn (Swing, NSDI 2024)",
            .restrictions = PL_BUILTIN_OP, .scratch_volumes = 2, .least_ranks = 4);
