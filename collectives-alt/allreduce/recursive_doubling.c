/* Allreduce by recursive doubling: peers at distance 1, 2, 4, … exchange their results.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
 * Cost, p a power of two: log2 p (a + n b + n g). Else p - 2^k ranks send their vector to a
 * neighbour first and get the result from it, which adds 2 (a + n b) + n g.
 * Restrictions: none. Partial results are over runs of ranks: the order is kept.
 * Messages: log2 p a rank, on the private communicator.
 * Scratch: one vector. */
#include "halving.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_partial partial;
    const struct pl_range all = {0, call->recvcount};
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, true));
    const struct pl_fold fold = pl_fold_of(p, rank, 0);
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place >= 0) {
        for (int distance = 1; distance < fold.power; distance *= 2)
            PL_TRY(pl_partial_exchange(&partial, all, all,
                                       pl_fold_rank(&fold, fold.place ^ distance),
                                       fold.place & distance));
        PL_TRY(pl_partial_finish(&partial, all));
    }
    PL_TRY(pl_fold_out(&partial, &fold));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_recursive_doubling, run,
            "recursive doubling, ceil(log2 p) rounds of the whole vector (Thakur et al. 2005)",
            .scratch_volumes = 2);
