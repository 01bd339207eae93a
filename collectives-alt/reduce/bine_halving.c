/* Reduce as reduce-scatter by halving, then a gather on a Bine tree: as reduce_rabenseifner, but
 * with peers that are nearer.
 *
 * Source: De Sensi et al., "Bine Trees", SC 2025; Rabenseifner, ICCS 2004.
 * Cost, p a power of two: 2 log2 p a + 2 (p-1)/p n b + (p-1)/p n g. Else p - 2^k ranks send their
 * vector to a neighbour first, which adds a + n b + n g.
 * Restrictions: MPI's own operations, since the vector is cut; they commute, as the peers ask.
 * Messages: 2 log2 p a rank at most, on the private communicator; blocks differ by at most one
 * element, and empty ones are not sent.
 * Scratch: two vectors, one at the root. */
#include "swing.h"

/* How many of the first steps lead from the root's place to this one. */
static int depth_of(const struct pl_swing *swing, int label, int root_place)
{
    int depth = 0, place = root_place;
    for (int step = 0; step < swing->steps; step++)
        if (!pl_swing_alike(swing, pl_swing_label(swing, place), label, step + 1)) {
            place = pl_swing_peer(swing, place, step);
            depth = step + 1;
        }
    return depth;
}

static int gather(const struct pl_partial *partial, const struct pl_swing *swing,
                  const struct pl_cut *blocks, int root)
{
    int rc = MPI_SUCCESS;
    const int place = swing->fold->place, label = pl_swing_label(swing, place);
    const int depth = depth_of(swing, label, pl_fold_place(swing->fold, root));
    for (int step = swing->steps - 1; step >= depth; step--)
        PL_TRY(pl_partial_append(partial, pl_swing_other(swing, blocks, label, step + 1),
                                 pl_fold_rank(swing->fold, pl_swing_peer(swing, place, step))));
    if (depth > 0)
        PL_TRY(pl_partial_send(partial, pl_swing_own(swing, blocks, label, depth),
                               pl_fold_rank(swing->fold, pl_swing_peer(swing, place, depth - 1))));
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
    const struct pl_swing swing = pl_swing_of(&fold);
    const struct pl_cut blocks = {.n = call->recvcount, .ranges = fold.power};
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place < 0)
        return MPI_SUCCESS;
    PL_TRY(pl_swing_halve(&partial, &swing, &blocks));
    if (rank == call->root)
        PL_TRY(pl_partial_finish(
            &partial,
            pl_swing_own(&swing, &blocks, pl_swing_label(&swing, fold.place), swing.steps)));
    PL_TRY(gather(&partial, &swing, &blocks, call->root));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_bine_halving, run,
            "halving, then a gather on a Bine tree (SC 2025)", .restrictions = PL_BUILTIN_OP,
            .scratch_volumes = 3, .least_ranks = 4);
