/* Allreduce as a user writes it: rank 0 receives from one rank after the other, adds, and sends
 * the result to one after the other.
 *
 * Source: the manual collectives of Calotoiu, Siebert, Wolf, Euro-Par 2012.
 * Cost: 2 (p-1) (a + n b) + (p-1) n g.
 * Restrictions: none; operands come in the order of ranks.
 * Messages: one from every rank to rank 0 and one back, on the private communicator.
 * Scratch: one vector at rank 0. */
#include "reductions.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_partial partial;
    const struct pl_range all = {0, call->recvcount};
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, true));
    PL_TRY(pl_reduce_from_each(&partial, p, rank, 0));
    if (rank > 0)
        return pl_receive_range(&partial, all, 0);
    for (int other = 1; other < p; other++)
        PL_TRY(pl_send_range(&partial, all, other));
out:
    return rc;
}

PL_DESCRIBE(PL_NAIVE, allreduce, allreduce_naive_recv_send, run,
            "rank 0 receives from each, adds, and sends to each (Calotoiu et al. 2012)",
            .scratch_volumes = 2);
