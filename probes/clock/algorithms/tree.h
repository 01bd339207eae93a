/* The binomial tree of the algorithms with ⌈log2 p⌉ rounds: the parent of a rank is the rank
 * without its lowest set bit. */
#ifndef PL_TREE_H
#define PL_TREE_H

#include "clock/learn.h"

/* All ranks at once learn their parent's timer, one round a bit; then models go down the tree and
 * are merged: from each rank's timer to that of rank 0. */
struct pl_model
pl_tree_merged(struct pl_wire *wire, struct pl_model (*learn)(struct pl_wire *wire, int server),
               void (*teach)(struct pl_wire *wire, int client, const struct pl_model *model));

#endif
