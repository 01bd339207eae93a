/* Shapes of trees over p ranks, counted from the root: v = (rank - root) mod p, so that 0 is the
 * root. Nothing is kept: a rank works out its own place. */
#ifndef PL_TREES_H
#define PL_TREES_H

/* The place of v. */
struct pl_tree {
    int parent;   /* -1 at the root */
    int children; /* how many; pl_child tells which */
    /* k-nomial trees and chains: the ranks of this subtree are v .. v + span - 1; else 0. */
    int span;
    int v, p, radix, fan_out; /* what the shape is made of */
};

/* k-nomial: the parent of v is v without its lowest digit in base `radix` that is not 0. At most
 * (radix - 1) * ceil(log_radix p) children of the root, depth ceil(log_radix p). Radix 2 is the
 * binomial tree; radix >= p a star. */
struct pl_tree pl_knomial(int v, int p, int radix);

/* k-ary: the children of v are fan_out * v + 1 .. fan_out * v + fan_out. Fan-out 1 is a chain, 2 a
 * binary tree. Depth log_fan_out p, p - 1 for a chain. */
struct pl_tree pl_kary(int v, int p, int fan_out);

/* Child i of 0 .. children - 1: ascending. In a k-nomial tree spans ascend too (but for the last,
 * which p may cut), so a Bcast sends from the last to the first, and a Reduce that receives from
 * the first to the last meets operands in order. */
int pl_child(const struct pl_tree *tree, int i);

/* The span of that child; 0 where the tree has none. */
int pl_child_span(const struct pl_tree *tree, int i);

/* Between ranks and ranks counted from the root. */
int pl_from_root(int rank, int root, int p);
int pl_to_rank(int v, int root, int p);

#endif
