/* Scatter as a user would write it: MPI_Send after MPI_Send at the root, MPI_Recv on every rank.
 *
 * Source: the mirror image of MPI_GatherSR of SKaMPI; Reussner, Hunzelmann, ICCS 2001 (section 5).
 * Cost: (p-1) a + (p-1)/p n b.
 * Restrictions: none; any root, any layout.
 * Messages: one to every rank but the root, empty ones too, in order of rank, with the users'
 * datatypes.
 * Scratch: none. */
#include "rooted.h"

PL_DESCRIBE(PL_NAIVE, scatter, scatter_naive_send_recv, pl_direct_naive,
            "MPI_Send at the root rank by rank, and MPI_Recv (mirror of SKaMPI GatherSR)");
