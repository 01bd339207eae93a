/* Scatterv from a root that keeps a window of sends open, root + 1 first; the next one takes the
 * place of whichever is complete.
 *
 * Source: the linear algorithm of Open MPI's coll/basic, with non-blocking messages.
 * Cost: m a + (n - n_root) b with m blocks that are not empty; handshakes overlap.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: one to every rank but the root whose block is not empty, at most `window` open,
 * straight out of the places the users name. scatterv_naive_isend opens all, empty ones too.
 * Scratch: `window` requests. */
#include "parameters.h"
#include "rooted.h"

static int run(const struct pl_call *call)
{
    return pl_direct_nonblocking(call, call->values[0], false);
}

const struct pl_variant pl_scatterv_linear_nonblocking = {
    .name = "scatterv_linear_nonblocking",
    .function = PL_FN_scatterv,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "the root keeps a window of sends open",
    .scratch_volumes = 0,
    .parameters = {PL_WINDOW},
    .run = run,
};
