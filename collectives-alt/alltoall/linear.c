/* Alltoall by all messages at once, each rank beginning with the next one, so that no rank is the
 * first goal of all others.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.3 (medium messages).
 * Cost: (p-1) a + (p-1)/p n b; the network decides how much of it overlaps.
 * Restrictions: none.
 * Messages: p - 1 of one block from each rank, in the datatypes of the call, on the private
 * communicator.
 * Scratch: 2 p requests; with MPI_IN_PLACE n bytes. */
#include "everyone.h"

PL_DESCRIBE(PL_ALGORITHM, alltoall, alltoall_linear, pl_everyone_at_once,
            "all messages at once, the next rank first (Thakur, Rabenseifner, Gropp 2005)",
            .scratch_volumes = 1);
