/* Recursive halving: ranks folded to a power of two, which halve a vector again and again. */
#ifndef PL_HALVING_H
#define PL_HALVING_H

#include "partial.h"

/* p ranks folded to a power of two: in the first pairs (2 i, 2 i + 1) one rank takes the operands
 * of both, the even one unless the other is `kept`. */
struct pl_fold {
    int power; /* 2^k <= p */
    int pairs; /* p - power */
    int kept;
    int place; /* of this rank among the power; -1: its mate stands for it */
    int mate;  /* the other rank of the pair, or -1 */
};

struct pl_fold pl_fold_of(int p, int rank, int kept);
/* Folded to any number of places, of which p has at most twice as many; it is called `power`. */
struct pl_fold pl_fold_to(int power, int p, int rank, int kept);
/* The rank of a place; the place that stands for a rank. */
int pl_fold_rank(const struct pl_fold *fold, int place);
int pl_fold_place(const struct pl_fold *fold, int rank);
/* The ranks that `place` stands for are pl_fold_first(place) .. pl_fold_first(place + 1) - 1. */
int pl_fold_first(const struct pl_fold *fold, int place);
/* Whole vectors of mates that stand aside are added to those that stay. */
int pl_fold_in(struct pl_partial *partial, const struct pl_fold *fold, int rank);
/* Whole results, in recvbuf, go to the mates that stood aside. */
int pl_fold_out(const struct pl_partial *partial, const struct pl_fold *fold);

/* Halves the vector and adds the peer's half until one of `fold->power` blocks is left. Ascending:
 * peers at distance 1, 2, 4, …, order kept, block pl_halves(…, power). Else the largest distance
 * comes first, the operation must be commutative, and block `place` is left. */
int pl_halve(struct pl_partial *partial, const struct pl_fold *fold, const struct pl_cut *blocks,
             bool ascending);
/* The range of a place in an ascending halving before the exchange at `distance`. */
struct pl_range pl_halves(const struct pl_fold *fold, const struct pl_cut *blocks, int place,
                          int distance);

#endif
