/* Scatterv from a root that sends to one rank after the other, root + 1 first.
 *
 * Source: the linear algorithm of Open MPI's coll/basic.
 * Cost: m a + (n - n_root) b with m blocks that are not empty.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: one to every rank but the root whose block is not empty, straight out of the places the
 * users name: only the root knows the counts, so no rank could say what scratch takes. Beside it
 * scatterv_naive_send_recv sends empty blocks too, and begins with rank 0.
 * Scratch: none. */
#include "rooted.h"

static int run(const struct pl_call *call)
{
    return pl_direct_blocking(call, false);
}

const struct pl_variant pl_scatterv_linear = {
    .name = "scatterv_linear",
    .function = PL_FN_scatterv,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "the root sends to one rank after the other",
    .scratch_volumes = 0,
    .run = run,
};
