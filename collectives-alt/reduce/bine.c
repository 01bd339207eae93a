/* Reduce up a Bine tree: a binomial tree whose messages go to near ranks, on this side and on that
 * in turn; most of them are the shortest.
 *
 * Source: De Sensi et al., "Bine Trees", SC 2025.
 * Cost, p a power of two: log2 p (a + n b + n g). Else p - 2^k ranks send their vector to a
 * neighbour first, which adds a + n b + n g.
 * Restrictions: the operation must be commutative.
 * Messages: one from every rank but the root, on the private communicator.
 * Scratch: one vector at the root and two on other inner ranks. */
#include "halving.h"

/* After each step those are left whose labels begin as the root's. */
static int up(struct pl_partial *partial, const struct pl_halving *halving, int root)
{
    int rc = MPI_SUCCESS;
    const struct pl_range all = {0, partial->n};
    const struct pl_fold *fold = halving->fold;
    const int top = halving->peers->label(fold->power, pl_fold_place(fold, root));
    for (int step = 0; step < halving->steps; step++) {
        const int peer = pl_halving_peer(halving, step);
        if (!pl_halving_alike(halving, halving->label, top, step + 1))
            return pl_partial_send(partial, all, peer);
        PL_TRY(pl_partial_receive(partial, all, peer, false));
    }
    PL_TRY(pl_partial_finish(partial, all));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_partial partial;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, rank == call->root));
    const struct pl_fold fold = pl_fold_of(p, rank, call->root);
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place < 0)
        return MPI_SUCCESS;
    const struct pl_halving halving = pl_halving_of(&fold, &pl_swing);
    PL_TRY(up(&partial, &halving, call->root));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_bine, run,
            "a binomial tree of near ranks on both sides (Bine trees, SC 2025)",
            .restrictions = PL_COMMUTATIVE, .scratch_volumes = 3, .least_ranks = 4);
