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

PL_DESCRIBE(PL_NAIVE, gather, gather_naive_irecv, pl_direct_naive_nonblocking,
            "MPI_Isend, and MPI_Irecv for all at the root (SKaMPI GatherISWA)");
