/* A halving whose peers are near, on this side and on that in turn: at the distances 1, -1, 3, -5,
 * 11, … from an even place, and against these from an odd one. The operation must commute.
 *
 * Source: De Sensi, Bonato, Saam, Hoefler, "Swing", NSDI 2024; De Sensi et al., "Bine Trees",
 * SC 2025, have trees of the same distances. */
#ifndef PL_SWING_H
#define PL_SWING_H

#include "halving.h"

/* 2^steps places. The first `depth` steps part them into 2^depth classes, which the peers of later
 * steps do not leave; a label has the class in its first `depth` bits. */
struct pl_swing {
    const struct pl_fold *fold;
    int steps;
};
struct pl_swing pl_swing_of(const struct pl_fold *fold);

int pl_swing_peer(const struct pl_swing *swing, int place, int step);
int pl_swing_label(const struct pl_swing *swing, int place);
/* True if two labels are of the same class. */
bool pl_swing_alike(const struct pl_swing *swing, int one, int other, int depth);
/* The blocks of a class, and those of the class that the step before it parted from it. */
struct pl_range pl_swing_own(const struct pl_swing *swing, const struct pl_cut *blocks, int label,
                             int depth);
struct pl_range pl_swing_other(const struct pl_swing *swing, const struct pl_cut *blocks, int label,
                               int depth);

/* Halves the vector and adds the peer's half until the block of the own label is left. */
int pl_swing_halve(struct pl_partial *partial, const struct pl_swing *swing,
                   const struct pl_cut *blocks);

#endif
