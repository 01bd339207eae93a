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

static int run(const struct pl_call *call)
{
    return pl_direct_blocking(call, false);
}

const struct pl_variant pl_gatherv_linear = {
    .name = "gatherv_linear",
    .function = PL_FN_gatherv,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "the root receives from one rank after the other",
    .scratch_volumes = 0,
    .run = run,
};
