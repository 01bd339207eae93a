/* Gather as a user would write it: MPI_Send on every rank, MPI_Recv after MPI_Recv at the root.
 *
 * Source: MPI_GatherSR of SKaMPI; Reussner, Hunzelmann, ICCS 2001 (section 5).
 * Cost: (p-1) a + (p-1)/p n b.
 * Restrictions: none; any root, any layout.
 * Messages: one from every rank but the root, empty ones too, in order of rank, with the users'
 * datatypes.
 * Scratch: none. */
#include "rooted.h"

static int run(const struct pl_call *call)
{
    return pl_direct_blocking(call, true);
}

const struct pl_variant pl_gather_naive_send_recv = {
    .name = "gather_naive_send_recv",
    .function = PL_FN_gather,
    .kind = PL_NAIVE,
    .restrictions = PL_ANY,
    .summary = "MPI_Send, and MPI_Recv at the root rank by rank (SKaMPI GatherSR)",
    .scratch_volumes = 0,
    .run = run,
};
