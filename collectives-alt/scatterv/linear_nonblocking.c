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

PL_DESCRIBE(PL_ALGORITHM, scatterv, scatterv_linear_nonblocking, pl_direct_window,
            "the root keeps a window of sends open", .parameters = {PL_WINDOW});
