/* Reduce as a user writes it: the root receives from one rank after the other and adds.
 *
 * Source: the manual collectives of Calotoiu, Siebert, Wolf, Euro-Par 2012.
 * Cost: (p-1) (a + n b + n g).
 * Restrictions: none; ranks below the root from its neighbour down, then those above it in
 * ascending order: operands keep theirs.
 * Messages: one from every rank but the root, on the private communicator.
 * Scratch: one vector at the root. */
#include "reductions.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_partial partial;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, rank == call->root));
    PL_TRY(pl_reduce_from_each(&partial, p, rank, call->root));
out:
    return rc;
}

PL_DESCRIBE(PL_NAIVE, reduce, reduce_naive_recv, run,
            "the root receives from one rank after the other and adds (Calotoiu et al. 2012)",
            .scratch_volumes = 2);
