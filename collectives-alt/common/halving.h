/* Halvings: ranks folded to a power of two, which halve a vector again and again. */
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

/* Who exchanges halves with whom, among `power` places. A label has a bit for each step, that of
 * the first step in front. After `depth` steps a place has the blocks whose first `depth` bits are
 * those of its label, and the peer of a step has the other half. */
struct pl_peers {
    int (*peer)(int power, int place, int step);
    int (*label)(int power, int place);
};
/* At the distances 1, 2, 4, …: the order is kept, and the label is the place with its bits
 * reversed. At the distances power / 2, …, 2, 1: the operation must commute, and the label is the
 * place. */
extern const struct pl_peers pl_near_first, pl_far_first;
/* At the distances 1, -1, 3, -5, 11, … (swing.c). The operation must commute. */
extern const struct pl_peers pl_swing;

/* One place of a halving. */
struct pl_halving {
    const struct pl_fold *fold;
    const struct pl_peers *peers;
    int steps, label;
};

/* For a fold in which this rank has a place. */
struct pl_halving pl_halving_of(const struct pl_fold *fold, const struct pl_peers *peers);
/* The rank of the own peer. */
int pl_halving_peer(const struct pl_halving *halving, int step);
/* True if the first `depth` bits of two labels are the same. */
bool pl_halving_alike(const struct pl_halving *halving, int one, int other, int depth);
/* The blocks of this place after `depth` steps, and what the peer of the last of them has then. */
struct pl_range pl_halving_own(const struct pl_halving *halving, const struct pl_cut *blocks,
                               int depth);
struct pl_range pl_halving_other(const struct pl_halving *halving, const struct pl_cut *blocks,
                                 int depth);
/* Halves the vector and adds the peer's half until one of `power` blocks is left: number `label`.
 */
int pl_halve(struct pl_partial *partial, const struct pl_halving *halving,
             const struct pl_cut *blocks);

/* Reduce and Allreduce: a halving, then the same steps backwards, in which blocks go to the root or
 * to both sides (by_halving.c). */
int pl_reduce_by_halving(const struct pl_call *call, const struct pl_peers *peers);
int pl_allreduce_by_halving(const struct pl_call *call, const struct pl_peers *peers);

#endif
