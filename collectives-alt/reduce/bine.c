/* Reduce up a Bine tree: a binomial tree whose messages go to near ranks, on this side and on that
 * in turn; most of them are the shortest.
 *
 * Source: De Sensi et al., "Bine Trees", SC 2025.
 * Cost, p a power of two: log2 p (a + n b + n g). Else p - 2^k ranks send their vector to a
 * neighbour first, which adds a + n b + n g.
 * Restrictions: the operation must be commutative.
 * Messages: one from every rank but the root, on the private communicator.
 * Scratch: one vector at the root and two on other inner ranks. */
#include "swing.h"

/* After each step those are left that are of the root's class. */
static int up(struct pl_partial *partial, const struct pl_swing *swing, int root)
{
    int rc = MPI_SUCCESS;
    const struct pl_range all = {0, partial->n};
    const int place = swing->fold->place, label = pl_swing_label(swing, place);
    const int top = pl_swing_label(swing, pl_fold_place(swing->fold, root));
    for (int step = 0; step < swing->steps; step++) {
        const int peer = pl_fold_rank(swing->fold, pl_swing_peer(swing, place, step));
        if (!pl_swing_alike(swing, label, top, step + 1))
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
    const struct pl_swing swing = pl_swing_of(&fold);
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place >= 0)
        PL_TRY(up(&partial, &swing, call->root));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_bine, run,
            "a binomial tree of near ranks on both sides (Bine trees, SC 2025)",
            .restrictions = PL_COMMUTATIVE, .scratch_volumes = 3, .least_ranks = 4);
