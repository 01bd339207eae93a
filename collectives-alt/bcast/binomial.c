/* Bcast on a binomial tree: in every round each rank that has the vector sends it to one that has
 * not, the largest subtree first.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, short messages.
 * Cost: ceil(log2 p) (a + n b).
 * Restrictions: none; any root, any layout.
 * Messages: p - 1 of n bytes, at most ceil(log2 p) from a rank.
 * Scratch: n bytes on ranks with a derived type. */
#include "bcast.h"

#include <limits.h>

static int run(const struct pl_call *call)
{
    int rc;
    struct pl_bcast bcast;
    PL_TRY(pl_bcast_begin(call, &bcast));
    const struct pl_tree tree = pl_knomial(bcast.v, bcast.p, 2);
    PL_TRY(pl_bcast_down(call, &bcast, &tree, INT_MAX));
    PL_TRY(pl_bcast_end(call, &bcast));
out:
    return rc;
}

const struct pl_variant pl_bcast_binomial = {
    .name = "bcast_binomial",
    .function = PL_FN_bcast,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "binomial tree, ceil(log2 p) rounds",
    .scratch_volumes = 1,
    .run = run,
};
