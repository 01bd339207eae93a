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

/* Undoes the halving on the way to the root. */
static int gather(struct pl_partial *partial, const struct pl_fold *fold,
                  const struct pl_cut *blocks, int root_place)
{
    int rc = MPI_SUCCESS;
    for (int distance = fold->power / 2; distance > 0; distance /= 2) {
        const int place = fold->place, peer = place ^ distance;
        if ((place ^ root_place) & distance)
            return pl_partial_send(partial, pl_halves(fold, blocks, place, 2 * distance),
                                   pl_fold_rank(fold, peer));
        PL_TRY(pl_partial_append(partial, pl_halves(fold, blocks, peer, 2 * distance),
                                 pl_fold_rank(fold, peer)));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_partial partial;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, rank == call->root));
    const struct pl_fold fold = pl_fold_of(p, rank, call->root);
    const struct pl_cut blocks = {.n = call->recvcount, .ranges = fold.power};
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place < 0)
        return MPI_SUCCESS;
    PL_TRY(pl_halve(&partial, &fold, &blocks, true));
    if (rank == call->root)
        PL_TRY(pl_partial_finish(&partial, pl_halves(&fold, &blocks, fold.place, fold.power)));
    PL_TRY(gather(&partial, &fold, &blocks, pl_fold_place(&fold, call->root)));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_rabenseifner, run,
            "recursive halving, then a binomial gather (Rabenseifner 2004)",
            .restrictions = PL_BUILTIN_OP, .scratch_volumes = 3);
