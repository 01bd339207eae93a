/* Scatter on a binomial tree: each rank receives the blocks of its subtree in one message and
 * passes on those of its children, the largest subtree first.
 *
 * Source: Chan, Heimlich, Purkayastha, van de Geijn, Concurrency and Computation 19(13), 2007 (the
 * minimum-spanning-tree scatter).
 * Cost: ceil(log2 p) a + (p-1)/p n b.
 * Restrictions: none; any root, any layout.
 * Messages: one to every rank but the root, at most ceil(log2 p) from a rank.
 * Scratch: the subtree's blocks on inner ranks, at most n/2 bytes; at the root those that cannot be
 * sent from their place (derived type, or a subtree that wraps around rank p - 1), at most n. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, scatter, scatter_binomial, pl_tree_scatter,
            "binomial tree, ceil(log2 p) rounds", .scratch_volumes = 1,
            .parameters = {PL_FIXED(2)});
