/* Gather at a root that receives from one rank after the other, root + 1 first.
 *
 * Source: the linear algorithm of Open MPI's coll/basic.
 * Cost: (p-1) a + (p-1)/p n b.
 * Restrictions: none; any root, any layout.
 * Messages: one of n/p bytes from every rank but the root. They carry the packed signature and
 * begin behind the root, where gather_naive_send_recv hands on the users' datatypes from rank 0 on.
 * Scratch: one block on ranks with a derived type. */
#include "rooted.h"

static int run(const struct pl_call *call)
{
    return pl_window_gather(call, 1);
}

const struct pl_variant pl_gather_linear = {
    .name = "gather_linear",
    .function = PL_FN_gather,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "the root receives from one rank after the other",
    .scratch_volumes = 1,
    .run = run,
};
