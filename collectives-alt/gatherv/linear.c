/* Gatherv at a root that receives from one rank after the other, root + 1 first.
 *
 * Source: the linear algorithm of Open MPI's coll/basic.
 * Cost: m a + (n - n_root) b with m blocks that are not empty.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: one from every rank but the root whose block is not empty, straight into the places the
 * users name: only the root knows the counts, so no rank could say what scratch takes. Beside it
 * gatherv_naive_send_recv sends empty blocks too, and begins with rank 0.
 * Scratch: none. */
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, gatherv, gatherv_linear, pl_direct_in_turn,
            "the root receives from one rank after the other");
