/* Scatter as a user would write it who knows of non-blocking messages: at the root MPI_Isend for
 * all ranks, then MPI_Waitall; MPI_Irecv on every rank.
 *
 * Source: the mirror image of MPI_GatherISWA of SKaMPI; Reussner, Hunzelmann, ICCS 2001 (section
 * 5).
 * Cost: (p-1) a + (p-1)/p n b.
 * Restrictions: none; any root, any layout.
 * Messages: one to every rank but the root, empty ones too, all open at once, with the users'
 * datatypes.
 * Scratch: p requests. */
#include "rooted.h"

#include <limits.h>

static int run(const struct pl_call *call)
{
    return pl_direct_nonblocking(call, INT_MAX, true);
}

const struct pl_variant pl_scatter_naive_isend = {
    .name = "scatter_naive_isend",
    .function = PL_FN_scatter,
    .kind = PL_NAIVE,
    .restrictions = PL_ANY,
    .summary = "MPI_Isend for all at the root, and MPI_Irecv (mirror of SKaMPI GatherISWA)",
    .scratch_volumes = 0,
    .run = run,
};
