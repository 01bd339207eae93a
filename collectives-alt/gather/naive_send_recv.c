/* Gather as a user would write it: MPI_Send on every rank, MPI_Recv after MPI_Recv at the root.
 *
 * Source: MPI_GatherSR of SKaMPI; Reussner, Hunzelmann, ICCS 2001 (section 5).
 * Cost: (p-1) a + (p-1)/p n b.
 * Restrictions: none; any root, any layout.
 * Messages: one from every rank but the root, empty ones too, in order of rank, with the users'
 * datatypes.
 * Scratch: none. */
#include "rooted.h"

PL_DESCRIBE(PL_NAIVE, gather, gather_naive_send_recv, pl_direct_naive,
            "MPI_Send, and MPI_Recv at the root rank by rank (SKaMPI GatherSR)");
