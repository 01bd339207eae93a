/* Ranks folded to a power of two, and halvings: who exchanges which ranges. */
#include "halving.h"

struct pl_fold pl_fold_of(int p, int rank, int kept)
{
    int power = 1;
    while (power <= p / 2)
        power *= 2;
    return pl_fold_to(power, p, rank, kept);
}

struct pl_fold pl_fold_to(int power, int p, int rank, int kept)
{
    struct pl_fold fold = {.power = power, .pairs = p - power, .kept = kept, .mate = -1};
    fold.place = pl_fold_place(&fold, rank);
    if (rank < 2 * fold.pairs) {
        fold.mate = rank ^ 1;
        if (pl_fold_rank(&fold, fold.place) != rank)
            fold.place = -1;
    }
    return fold;
}

int pl_fold_place(const struct pl_fold *fold, int rank)
{
    return rank < 2 * fold->pairs ? rank / 2 : rank - fold->pairs;
}

int pl_fold_rank(const struct pl_fold *fold, int place)
{
    if (place >= fold->pairs)
        return place + fold->pairs;
    return fold->kept == 2 * place + 1 ? fold->kept : 2 * place;
}

int pl_fold_first(const struct pl_fold *fold, int place)
{
    return place + (place < fold->pairs ? place : fold->pairs);
}

int pl_fold_in(struct pl_partial *partial, const struct pl_fold *fold, int rank)
{
    const struct pl_range all = {0, partial->n};
    if (fold->mate < 0)
        return MPI_SUCCESS;
    return fold->place < 0 ? pl_partial_send(partial, all, fold->mate)
                           : pl_partial_receive(partial, all, fold->mate, fold->mate < rank);
}

int pl_fold_out(const struct pl_partial *partial, const struct pl_fold *fold)
{
    const struct pl_range all = {0, partial->n};
    if (fold->mate < 0)
        return MPI_SUCCESS;
    return fold->place < 0 ? pl_receive_range(partial, all, fold->mate)
                           : pl_send_range(partial, all, fold->mate);
}

static int far(int power, int place, int step)
{
    return place ^ power >> (step + 1);
}

static int same(int power, int place)
{
    (void)power;
    return place;
}

const struct pl_peers pl_far_first = {far, same};

static int near(int power, int place, int step)
{
    (void)power;
    return place ^ 1 << step;
}

static int reversed(int power, int place)
{
    int label = 0;
    for (int bit = 1; bit < power; bit *= 2)
        label = 2 * label + (place & bit ? 1 : 0);
    return label;
}

const struct pl_peers pl_near_first = {near, reversed};

struct pl_halving pl_halving_of(const struct pl_fold *fold, const struct pl_peers *peers)
{
    struct pl_halving halving = {fold, peers, 0, peers->label(fold->power, fold->place)};
    while (1 << halving.steps < fold->power)
        halving.steps++;
    return halving;
}

int pl_halving_peer(const struct pl_halving *halving, int step)
{
    const struct pl_fold *fold = halving->fold;
    return pl_fold_rank(fold, halving->peers->peer(fold->power, fold->place, step));
}

bool pl_halving_alike(const struct pl_halving *halving, int one, int other, int depth)
{
    return (one ^ other) >> (halving->steps - depth) == 0;
}

static struct pl_range half_of(const struct pl_halving *halving, const struct pl_cut *blocks,
                               int label, int depth)
{
    const int width = halving->fold->power >> depth, begin = label / width * width;
    return pl_cut_run(blocks, begin, begin + width);
}

struct pl_range pl_halving_own(const struct pl_halving *halving, const struct pl_cut *blocks,
                               int depth)
{
    return half_of(halving, blocks, halving->label, depth);
}

struct pl_range pl_halving_other(const struct pl_halving *halving, const struct pl_cut *blocks,
                                 int depth)
{
    return half_of(halving, blocks, halving->label ^ halving->fold->power >> depth, depth);
}

int pl_halve(struct pl_partial *partial, const struct pl_halving *halving,
             const struct pl_cut *blocks)
{
    int rc = MPI_SUCCESS;
    const int place = halving->fold->place, power = halving->fold->power;
    for (int step = 0; step < halving->steps; step++) {
        const bool lower = halving->peers->peer(power, place, step) < place;
        PL_TRY(pl_partial_exchange(partial, pl_halving_other(halving, blocks, step + 1),
                                   pl_halving_own(halving, blocks, step + 1),
                                   pl_halving_peer(halving, step), lower));
    }
out:
    return rc;
}
