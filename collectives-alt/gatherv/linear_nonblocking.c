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

PL_DESCRIBE(PL_ALGORITHM, gatherv, gatherv_linear_nonblocking, pl_direct_window,
            "the root keeps a window of receives open", .parameters = {PL_WINDOW});
