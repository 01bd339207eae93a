/* Reduce and Allreduce as a halving, then its steps backwards. */
#include "halving.h"

/* How many of the first steps lead from the root's place to this one: the depth in a tree. */
static int depth_of(const struct pl_halving *halving, int root_place)
{
    const struct pl_peers *peers = halving->peers;
    const int power = halving->fold->power;
    int depth = 0, place = root_place;
    for (int step = 0; step < halving->steps; step++)
        if (!pl_halving_alike(halving, peers->label(power, place), halving->label, step + 1)) {
            place = peers->peer(power, place, step);
            depth = step + 1;
        }
    return depth;
}

static int gather(const struct pl_partial *partial, const struct pl_halving *halving,
                  const struct pl_cut *blocks, int root)
{
    int rc = MPI_SUCCESS;
    const int depth = depth_of(halving, pl_fold_place(halving->fold, root));
    for (int step = halving->steps - 1; step >= depth; step--)
        PL_TRY(pl_partial_append(partial, pl_halving_other(halving, blocks, step + 1),
                                 pl_halving_peer(halving, step)));
    if (depth > 0)
        PL_TRY(pl_partial_send(partial, pl_halving_own(halving, blocks, depth),
                               pl_halving_peer(halving, depth - 1)));
out:
    return rc;
}

int pl_reduce_by_halving(const struct pl_call *call, const struct pl_peers *peers)
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
    const struct pl_halving halving = pl_halving_of(&fold, peers);
    PL_TRY(pl_halve(&partial, &halving, &blocks));
    if (rank == call->root)
        PL_TRY(pl_partial_finish(&partial, pl_halving_own(&halving, &blocks, halving.steps)));
    PL_TRY(gather(&partial, &halving, &blocks, call->root));
out:
    return rc;
}

/* Both sides of each step get one more half. */
static int allgather(const struct pl_partial *partial, const struct pl_halving *halving,
                     const struct pl_cut *blocks)
{
    int rc = MPI_SUCCESS;
    for (int step = halving->steps - 1; step >= 0; step--) {
        const int peer = pl_halving_peer(halving, step);
        PL_TRY(pl_exchange_ranges(partial, pl_halving_own(halving, blocks, step + 1), peer,
                                  pl_halving_other(halving, blocks, step + 1), peer));
    }
out:
    return rc;
}

int pl_allreduce_by_halving(const struct pl_call *call, const struct pl_peers *peers)
{
    int rc, p, rank;
    struct pl_partial partial;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, true));
    const struct pl_fold fold = pl_fold_of(p, rank, 0);
    const struct pl_cut blocks = {.n = call->recvcount, .ranges = fold.power};
    PL_TRY(pl_fold_in(&partial, &fold, rank));
    if (fold.place >= 0) {
        const struct pl_halving halving = pl_halving_of(&fold, peers);
        PL_TRY(pl_halve(&partial, &halving, &blocks));
        PL_TRY(pl_partial_finish(&partial, pl_halving_own(&halving, &blocks, halving.steps)));
        PL_TRY(allgather(&partial, &halving, &blocks));
    }
    PL_TRY(pl_fold_out(&partial, &fold));
out:
    return rc;
}
