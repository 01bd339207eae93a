/* Gatherv at a root that keeps a window of receives open, root + 1 first; the next one takes the
 * place of whichever is complete.
 *
 * Source: the linear algorithm of Open MPI's coll/basic, with non-blocking messages.
 * Cost: m a + (n - n_root) b with m blocks that are not empty; handshakes overlap.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: one from every rank but the root whose block is not empty, at most `window` open,
 * straight into the places the users name. gatherv_naive_irecv opens all, empty ones too.
 * Scratch: `window` requests. */
#include "parameters.h"
#include "rooted.h"

static int run(const struct pl_call *call)
{
    return pl_direct_nonblocking(call, call->values[0], false);
}

const struct pl_variant pl_gatherv_linear_nonblocking = {
    .name = "gatherv_linear_nonblocking",
    .function = PL_FN_gatherv,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "the root keeps a window of receives open",
    .scratch_volumes = 0,
    .parameters = {PL_WINDOW},
    .run = run,
};
