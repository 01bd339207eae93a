/* Scatterv as a user would write it who knows of non-blocking messages: at the root MPI_Isend for
 * all ranks, then MPI_Waitall; MPI_Irecv on every rank.
 *
 * Source: the mirror image of MPI_GatherISWA of SKaMPI with counts that differ; Reussner,
 * Hunzelmann, ICCS 2001 (section 5).
 * Cost: (p-1) a + (n - n_root) b.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: one to every rank but the root, empty ones too, all open at once.
 * Scratch: p requests. */
#include "rooted.h"

#include <limits.h>

static int run(const struct pl_call *call)
{
    return pl_direct_nonblocking(call, INT_MAX, true);
}

const struct pl_variant pl_scatterv_naive_isend = {
    .name = "scatterv_naive_isend",
    .function = PL_FN_scatterv,
    .kind = PL_NAIVE,
    .restrictions = PL_ANY,
    .summary = "MPI_Isend for all at the root, and MPI_Irecv",
    .scratch_volumes = 0,
    .run = run,
};
