/* Allreduce as reduce-scatter by recursive halving, then allgather by recursive doubling.
 *
 * Source: Rabenseifner, ICCS 2004; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
 * Cost, p a power of two: 2 log2 p a + 2 (p-1)/p n b + (p-1)/p n g. Else p - 2^k ranks send their
 * vector to a neighbour first and get the result from it, which adds 2 (a + n b) + n g.
 * Restrictions: MPI's own operations, since the vector is cut.
 * Messages: 2 log2 p a rank, on the private communicator; blocks differ by at most one element,
 * and empty ones are not sent.
 * Scratch: one vector. */
#include "halving.h"

/* Undoes the halving: both sides know one more half. */
static int allgather(const struct pl_partial *partial, const struct pl_fold *fold,
                     const struct pl_cut *blocks)
{
    int rc = MPI_SUCCESS;
    for (int distance = fold->power / 2; distance > 0; distance /= 2) {
        const int place = fold->place ^ distance, peer = pl_fold_rank(fold, place);
        PL_TRY(pl_exchange_ranges(partial, pl_halves(fold, blocks, fold->place, 2 * distance), peer,
                                  pl_halves(fold, blocks, place, 2 * distance), peer));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_partial partial;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, true));
    const struct pl_fold fold = pl_fold_of(p, rank, 0);
    const struct pl_cut blocks = {.n = call->recvcount, .ranges = fold.power};
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place >= 0) {
        PL_TRY(pl_halve(&partial, &fold, &blocks, true));
        PL_TRY(pl_partial_finish(&partial, pl_halves(&fold, &blocks, fold.place, fold.power)));
        PL_TRY(allgather(&partial, &fold, &blocks));
    }
    PL_TRY(pl_fold_out(&partial, &fold));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_rabenseifner, run,
            "recursive halving, then recursive doubling of the blocks (Rabenseifner 2004)",
            .restrictions = PL_BUILTIN_OP, .scratch_volumes = 2);
