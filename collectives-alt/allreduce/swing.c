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
#include "swing.h"

static int allgather(const struct pl_partial *partial, const struct pl_swing *swing,
                     const struct pl_cut *blocks)
{
    int rc = MPI_SUCCESS;
    const int place = swing->fold->place, label = pl_swing_label(swing, place);
    for (int step = swing->steps - 1; step >= 0; step--) {
        const int peer = pl_fold_rank(swing->fold, pl_swing_peer(swing, place, step));
        PL_TRY(pl_exchange_ranges(partial, pl_swing_own(swing, blocks, label, step + 1), peer,
                                  pl_swing_other(swing, blocks, label, step + 1), peer));
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
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, true));
    const struct pl_fold fold = pl_fold_of(p, rank, 0);
    const struct pl_swing swing = pl_swing_of(&fold);
    const struct pl_cut blocks = {.n = call->recvcount, .ranges = fold.power};
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place >= 0) {
        PL_TRY(pl_swing_halve(&partial, &swing, &blocks));
        PL_TRY(pl_partial_finish(
            &partial,
            pl_swing_own(&swing, &blocks, pl_swing_label(&swing, fold.place), swing.steps)));
        PL_TRY(allgather(&partial, &swing, &blocks));
    }
    PL_TRY(pl_fold_out(&partial, &fold));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_swing, run,
            "halving and doubling with peers on both sides in turn (Swing, NSDI 2024)",
            .restrictions = PL_BUILTIN_OP, .scratch_volumes = 2, .least_ranks = 4);
