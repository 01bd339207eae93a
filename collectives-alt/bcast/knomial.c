/* Bcast on a k-nomial tree: in every round each rank that has the vector sends it to k - 1 others,
 * the largest subtrees first. k = 2 is bcast_binomial, k >= p is bcast_linear.
 *
 * Source: the binomial tree with base k instead of 2, as in the k-nomial trees of Open MPI and
 * MPICH.
 * Cost: (k-1) ceil(logk p) (a + n b); where messages to several ranks overlap, ceil(logk p) a.
 * Restrictions: none; any root, any layout.
 * Messages: p - 1 of n bytes, at most (k-1) ceil(logk p) from a rank, all open at once.
 * Scratch: n bytes on ranks with a derived type. */
#include "bcast.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_knomial, pl_bcast_by_tree,
            "k-nomial tree, (k-1) ceil(logk p) messages from the root", .scratch_volumes = 1,
            .parameters = {PL_TREE_RADIX});
