/* Gather at a root that receives from one rank after the other, root + 1 first.
 *
 * Source: the linear algorithm of Open MPI's coll/basic.
 * Cost: (p-1) a + (p-1)/p n b.
 * Restrictions: none; any root, any layout.
 * Messages: one of n/p bytes from every rank but the root. They carry the packed signature and
 * begin behind the root, where gather_naive_send_recv hands on the users' datatypes from rank 0 on.
 * Scratch: one block on ranks with a derived type. */
#include "parameters.h"
#include "rooted.h"

PL_DESCRIBE(PL_ALGORITHM, gather, gather_linear, pl_window_gather,
            "the root receives from one rank after the other", .scratch_volumes = 1,
            .parameters = {PL_FIXED(1)});
