/* What Gather(v) and Scatter(v) variants share: where blocks are, and three ways to move them
 * between the root and the others. Gathers and scatters differ in direction alone. */
#ifndef PL_ROOTED_H
#define PL_ROOTED_H

#include "tools.h"
#include "trees.h"

/* Elements of one rank, in memory. */
struct pl_portion {
    void *buf;
    int count;
    MPI_Datatype type;
};

/* Gather(v): the root receives. */
bool pl_gathers(const struct pl_call *call);
/* Block of a rank in the buffer of the root, which alone may ask. */
struct pl_portion pl_root_portion(const struct pl_call *call, int rank);
/* What this rank sends (Gather) or receives (Scatter); nothing at a root with MPI_IN_PLACE. */
struct pl_portion pl_own_portion(const struct pl_call *call);
/* Equal at the root and on the rank, as signatures are. */
bool pl_portion_empty(const struct pl_portion *portion);

/* The root's own block, from place to place without scratch; nothing with MPI_IN_PLACE. */
int pl_root_keeps(const struct pl_call *call, MPI_Comm peers);

/* --- one message a rank, between the places themselves: no scratch, any counts (direct.c) --- */

/* In order of rank, and empty messages too; non-blocking on both sides. */
int pl_direct_naive(const struct pl_call *call);
int pl_direct_naive_nonblocking(const struct pl_call *call);
/* Counted from the root, and without empty ones; at most so many open at the root as the parameter
 * says. */
int pl_direct_in_turn(const struct pl_call *call);
int pl_direct_window(const struct pl_call *call);

/* --- one message of bytes a rank, counted from the root (window.c) --- */

/* Gather or Scatter with at most so many messages open at the root as the parameter says. A derived
 * type is unpacked while the next ones arrive, or packed while those before are under way; that
 * takes as many blocks of scratch there, and one block elsewhere. */
int pl_window_gather(const struct pl_call *call);
int pl_window_scatter(const struct pl_call *call);

/* --- k-nomial trees of bytes (gather_tree.c, scatter_tree.c); the parameter is the radix --- */

int pl_tree_gather(const struct pl_call *call);
int pl_tree_scatter(const struct pl_call *call);

/* --- Gatherv and Scatterv on trees that look at the counts (bundles.h):
 * long blocks go directly, short ones in bundles of bytes --- */

/* Parameter: the bytes of a bundle. */
int pl_weighted_tree(const struct pl_call *call);
/* Parameters: the radix, and the bytes of a bundle. */
int pl_bundled_tree(const struct pl_call *call);

/* --- Gatherv and Scatterv through Alltoallv (rooted_alltoallv.c) --- */

int pl_rooted_alltoallv(const struct pl_call *call);

/* --- of the bodies above --- */

/* This rank in a Gather or Scatter. */
struct pl_rooted {
    MPI_Comm peers; /* private */
    int p, rank, root;
    int v;     /* this rank, counted from the root */
    int bytes; /* of a block; not for Gatherv and Scatterv, where ranks do not agree on it */
};
int pl_rooted_begin(const struct pl_call *call, struct pl_rooted *me);

/* Blocks v .. v + count - 1, counted from the root, as bytes one after another: their place in the
 * root's buffer if they are such already, else NULL. */
char *pl_root_range(const struct pl_call *call, const struct pl_rooted *me, int v, int count);

#endif
