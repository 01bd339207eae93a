/* Bcast on a binomial tree: in every round each rank that has the vector sends it to one that has
 * not, the largest subtree first.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, short messages.
 * Cost: ceil(log2 p) (a + n b).
 * Restrictions: none; any root, any layout.
 * Messages: p - 1 of n bytes, at most ceil(log2 p) from a rank.
 * Scratch: n bytes on ranks with a derived type. */
#include "bcast.h"
#include "parameters.h"

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_binomial, pl_bcast_by_tree,
            "binomial tree, ceil(log2 p) rounds", .scratch_volumes = 1,
            .parameters = {PL_FIXED(2)});
