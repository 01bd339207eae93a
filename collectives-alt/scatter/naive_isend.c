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

PL_DESCRIBE(PL_NAIVE, scatter, scatter_naive_isend, pl_direct_naive_nonblocking,
            "MPI_Isend for all at the root, and MPI_Irecv (mirror of SKaMPI GatherISWA)");
