/* Bodies of reductions that several variants share. */
#ifndef PL_REDUCTIONS_H
#define PL_REDUCTIONS_H

#include "partial.h"

/* To `root` from one rank after the other, in blocking receives; the order is kept (partial.c). */
int pl_reduce_from_each(struct pl_partial *partial, int p, int rank, int root);

/* Up a k-nomial tree over ranks counted from `root`; the order is kept if that is 0 (up_tree.c). */
int pl_reduce_up_tree(struct pl_partial *partial, int p, int rank, int root, int radix);
/* Reduce on such a tree, whose radix is the parameter; the order is kept (up_tree.c). */
int pl_reduce_on_tree(const struct pl_call *call);

/* Reduce and Allreduce on two binary trees; the parameter is the bytes of a segment. The operation
 * must commute (two_trees.c). */
int pl_reduce_on_two_trees(const struct pl_call *call);

/* Reduce-scatter in p - 1 steps around a ring, p > 1: afterwards the own range is at *own.
 * `direct`: it goes to what *own says before (ring.c). */
int pl_ring(const struct pl_call *call, MPI_Comm peers, const struct pl_cut *cut, int rank,
            bool direct, void **own);
/* All ranges of recvbuf to everybody, in p - 1 steps; the own one is there (ring.c). */
int pl_ring_allgather(const struct pl_call *call, MPI_Comm peers, const struct pl_cut *cut,
                      int rank);

/* Reduce_scatter and Reduce_scatter_block (reduce_scatter.c, ring.c, chains.c). */
int pl_reduce_scatter_by_halving(const struct pl_call *call);
int pl_reduce_scatter_by_pairs(const struct pl_call *call);
int pl_reduce_scatter_by_ring(const struct pl_call *call);
int pl_reduce_scatter_by_chains(const struct pl_call *call);
/* The same on parallel aggregated trees; the parameter is the most blocks of a message. The
 * operation must commute (parallel_trees.c). */
int pl_reduce_scatter_on_parallel_trees(const struct pl_call *call);

/* Scan and Exscan (prefix.c). */
int pl_prefix_doubling(const struct pl_call *call);

/* Allreduce by recursive doubling (doubling.c). */
int pl_allreduce_by_doubling(const struct pl_call *call);

/* A function without a root: each rank gets the operands that count for it and reduces them alone;
 * any order is kept. Where all vectors together have more than 1 MiB, it is done `otherwise`
 * (gather_reduce.c). */
typedef int pl_reduction(const struct pl_call *call);
int pl_by_gathering(const struct pl_call *call, pl_reduction *otherwise);
/* The same for Scan and Exscan, whose ranks send their operands to all above at once. */
int pl_prefix_by_flooding(const struct pl_call *call, pl_reduction *otherwise);

#endif
