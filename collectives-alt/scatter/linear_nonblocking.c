/* Scatter from a root that keeps a window of sends open, root + 1 first.
 *
 * Source: the linear algorithm of Open MPI's coll/basic, with MPI_Isend.
 * Cost: (p-1) a + (p-1)/p n b; the handshakes of long messages overlap.
 * Restrictions: none; any root, any layout.
 * Messages: one of n/p bytes to every rank but the root, at most `window` open. scatter_naive_isend
 * opens all.
 * Scratch: at a root with a derived type `window` blocks, packed while those before are under way;
 * one block on other ranks with a derived type; `window` requests. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, scatter, scatter_linear_nonblocking, pl_window_scatter,
            "the root keeps a window of sends open", .scratch_volumes = 1,
            .parameters = {PL_WINDOW});
