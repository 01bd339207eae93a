/* Gather at a root that keeps a window of receives open, root + 1 first.
 *
 * Source: the linear algorithm of Open MPI's coll/basic, with MPI_Irecv.
 * Cost: (p-1) a + (p-1)/p n b; the handshakes of long messages overlap.
 * Restrictions: none; any root, any layout.
 * Messages: one of n/p bytes from every rank but the root. At most `window` are open, so that many
 * ranks do not flood the root; gather_naive_irecv opens all.
 * Scratch: at a root with a derived type `window` blocks, unpacked while the next arrive; one block
 * on other ranks with a derived type; `window` requests. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, gather, gather_linear_nonblocking, pl_window_gather,
            "the root keeps a window of receives open", .scratch_volumes = 1,
            .parameters = {PL_WINDOW});
