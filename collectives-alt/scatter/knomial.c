/* Scatter on a k-nomial tree: each rank receives the blocks of its subtree in one message and
 * passes on those of its children, the largest subtrees first. k = 2 is scatter_binomial, k >= p a
 * star.
 *
 * Source: the minimum-spanning-tree scatter of Chan, Heimlich, Purkayastha, van de Geijn,
 * Concurrency and Computation 19(13), 2007, with base k instead of 2.
 * Cost: (k-1) ceil(logk p) a + (p-1)/p n b; fewer levels than the binomial tree pass blocks on.
 * Restrictions: none; any root, any layout.
 * Messages: one to every rank but the root, at most (k-1) ceil(logk p) from a rank, all open at
 * once.
 * Scratch: as scatter_binomial. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, scatter, scatter_knomial, pl_tree_scatter,
            "k-nomial tree, ceil(logk p) levels", .scratch_volumes = 1,
            .parameters = {PL_TREE_RADIX});
