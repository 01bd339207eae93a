/* Gatherv as a user would write it: MPI_Send on every rank, MPI_Recv after MPI_Recv at the root.
 *
 * Source: MPI_GatherSR of SKaMPI with counts that differ; Reussner, Hunzelmann, ICCS 2001 (section
 * 5).
 * Cost: (p-1) a + (n - n_root) b.
 * Restrictions: none; any root, any layout, any counts.
 * Messages: one from every rank but the root, empty ones too, in order of rank.
 * Scratch: none. */
#include "rooted.h"

PL_DESCRIBE(PL_NAIVE, gatherv, gatherv_naive_send_recv, pl_direct_naive,
            "MPI_Send, and MPI_Recv at the root rank by rank");
