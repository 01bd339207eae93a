/* What the Bcast algorithms share. They move bytes of the packed signature, never elements: ranks
 * may describe the same vector by different datatypes. */
#ifndef PL_BCAST_H
#define PL_BCAST_H

#include "tools.h"
#include "trees.h"

struct pl_bcast {
    MPI_Comm peers; /* private */
    int p, root;
    int v;       /* this rank, counted from the root */
    int n;       /* bytes of the vector */
    char *bytes; /* all of it: recvbuf, or scratch of n bytes (slot RECV) if the type is derived */
};

/* Packs at the root; pl_bcast_end unpacks elsewhere. */
int pl_bcast_begin(const struct pl_call *call, struct pl_bcast *bcast);
int pl_bcast_end(const struct pl_call *call, const struct pl_bcast *bcast);

/* The neighbours of this rank in a tree, as ranks of the communicator. The last child is served
 * first. */
struct pl_route {
    int parent; /* or MPI_PROC_NULL */
    int children;
    const int *child;
};

/* The whole vector down a tree in segments of at most `segment` bytes. A rank sends a segment to
 * its children while it receives the next ones. */
int pl_bcast_down(const struct pl_call *call, const struct pl_bcast *bcast,
                  const struct pl_route *route, int segment);

/* Segments that a rank has open with its parent in a tree, and with each of its children. */
enum { PL_BCAST_OPEN = 4 };

/* Bodies: down a k-nomial tree (parameter: its radix), or a k-ary one in segments (their bytes, and
 * the fan-out). */
int pl_bcast_by_tree(const struct pl_call *call);
int pl_bcast_by_segments(const struct pl_call *call);

/* First byte of block i of `blocks` equal blocks; the last ones may be short or empty. */
int pl_bcast_cut(const struct pl_bcast *bcast, int blocks, int i);

/* Scatter on a binomial tree over the first `blocks` ranks: rank v gets block v, and with it the
 * blocks of its subtree. */
int pl_bcast_scatter(const struct pl_call *call, const struct pl_bcast *bcast, int blocks);

#endif
