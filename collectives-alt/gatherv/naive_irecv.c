/* Gatherv as a user would write it who knows of non-blocking messages: MPI_Isend on every rank; at
 * the root MPI_Irecv for all of them, then MPI_Waitall.
 *
 * Source: MPI_GatherISWA of SKaMPI with counts that differ; Reussner, Hunzelmann, ICCS 2001
 * (section 5).
 * Cost: (p-1) a + (n - n_root) b.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: one from every rank but the root, empty ones too, all open at once.
 * Scratch: p requests. */
#include "rooted.h"

#include <limits.h>

static int run(const struct pl_call *call)
{
    return pl_direct_nonblocking(call, INT_MAX, true);
}

const struct pl_variant pl_gatherv_naive_irecv = {
    .name = "gatherv_naive_irecv",
    .function = PL_FN_gatherv,
    .kind = PL_NAIVE,
    .restrictions = PL_ANY,
    .summary = "MPI_Isend, and MPI_Irecv for all at the root",
    .scratch_volumes = 0,
    .run = run,
};
