/* Gather as a user would write it who knows of non-blocking messages: MPI_Isend on every rank; at
 * the root MPI_Irecv for all of them, then MPI_Waitall.
 *
 * Source: MPI_GatherISWA of SKaMPI; Reussner, Hunzelmann, ICCS 2001 (section 5).
 * Cost: (p-1) a + (p-1)/p n b; messages are received as they arrive.
 * Restrictions: none; any root, any layout.
 * Messages: one from every rank but the root, empty ones too, all open at once, with the users'
 * datatypes.
 * Scratch: p requests. */
#include "rooted.h"

#include <limits.h>

static int run(const struct pl_call *call)
{
    return pl_direct_nonblocking(call, INT_MAX, true);
}

const struct pl_variant pl_gather_naive_irecv = {
    .name = "gather_naive_irecv",
    .function = PL_FN_gather,
    .kind = PL_NAIVE,
    .restrictions = PL_ANY,
    .summary = "MPI_Isend, and MPI_Irecv for all at the root (SKaMPI GatherISWA)",
    .scratch_volumes = 0,
    .run = run,
};
