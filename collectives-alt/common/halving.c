/* Recursive halving: ranks folded to a power of two, and ranges that get smaller by half. */
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

int pl_halve(struct pl_partial *partial, const struct pl_fold *fold, const struct pl_cut *blocks,
             bool ascending)
{
    int rc = MPI_SUCCESS, begin = 0, end = fold->power;
    for (int step = 1; step < fold->power; step *= 2) {
        const int distance = ascending ? step : fold->power / 2 / step;
        const bool lower = fold->place & distance; /* the peer's place is below */
        const int middle = begin + (end - begin) / 2;
        const struct pl_range front = pl_cut_run(blocks, begin, middle);
        const struct pl_range back = pl_cut_run(blocks, middle, end);
        PL_TRY(pl_partial_exchange(partial, lower ? front : back, lower ? back : front,
                                   pl_fold_rank(fold, fold->place ^ distance), lower));
        if (lower)
            begin = middle;
        else
            end = middle;
    }
out:
    return rc;
}

struct pl_range pl_halves(const struct pl_fold *fold, const struct pl_cut *blocks, int place,
                          int distance)
{
    int begin = 0, width = fold->power;
    for (int step = 1; step < distance; step *= 2) {
        width /= 2;
        begin += place & step ? width : 0;
    }
    return pl_cut_run(blocks, begin, begin + width);
}
