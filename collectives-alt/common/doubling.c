/* Allreduce by recursive doubling. */
#include "halving.h"
#include "reductions.h"

int pl_allreduce_by_doubling(const struct pl_call *call)
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
