/* Reduce on a binomial tree: each rank adds the results of its subtrees and passes the sum on.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
 * Cost: ceil(log2 p) (a + n b + n g); a + n b more where the order must be kept and the root is
 * not rank 0.
 * Restrictions: none. A subtree is a run of ranks counted from the root, which is out of order if
 * that run wraps around; for a non-commutative operation the tree's root is rank 0, which sends
 * the result on.
 * Messages: one from every rank but the root, on the private communicator.
 * Scratch: on inner ranks messages of up to 64 KiB, or one, that are open; the sum on all of
 * them but the root; one more vector in place if the operation is not commutative. */
#include "incoming.h"
#include "parameters.h"
#include "reductions.h"

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_binomial, pl_reduce_on_tree,
            "binomial tree, ceil(log2 p) rounds (Thakur et al. 2005)", .scratch_volumes = 3,
            .scratch_bytes = PL_INCOMING_MOST, .parameters = {PL_FIXED(2)});
