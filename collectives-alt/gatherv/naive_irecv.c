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

PL_DESCRIBE(PL_NAIVE, gatherv, gatherv_naive_irecv, pl_direct_naive_nonblocking,
            "MPI_Isend, and MPI_Irecv for all at the root");
