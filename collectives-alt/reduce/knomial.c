/* Reduce on a k-nomial tree: as the binomial one, with k - 1 subtrees a level and fewer levels.
 *
 * Source: the k-nomial trees of MPICH; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005 (k = 2).
 * Cost, for k = radix: (k-1) ceil(log_k p) (a + n b + n g) at most; the last rank's operands pass
 * ceil(log_k p) messages.
 * Restrictions: none; the order is kept as in reduce_binomial.
 * Parameter: radix; 2 is reduce_binomial, p or more lets everybody send to the root.
 * Messages: one from every rank but the root, on the private communicator.
 * Scratch: that of reduce_binomial. */
#include "incoming.h"
#include "parameters.h"
#include "reductions.h"

PL_DESCRIBE(PL_ALGORITHM, reduce, reduce_knomial, pl_reduce_on_tree,
            "k-nomial tree, ceil(log_k p) levels (MPICH)", .scratch_volumes = 3,
            .scratch_bytes = PL_INCOMING_MOST,
            .parameters = {PL_RADIX(4, "k: each level has k - 1 subtrees", 3, 4, 8, 16)});
