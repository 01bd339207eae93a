/* Alltoall by pairwise exchange: in step s every rank sends to the rank s behind it and receives
 * from the rank s before it.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.3 (long messages).
 * Cost: (p-1) a + (p-1)/p n b.
 * Restrictions: none.
 * Messages: p - 1 of one block from each rank, in the datatypes of the call, on the private
 * communicator. With MPI_IN_PLACE the two ranks of a step swap by MPI_Sendrecv_replace.
 * Scratch: none of ours. */
#include "everyone.h"

PL_DESCRIBE(PL_ALGORITHM, alltoall, alltoall_pairwise, pl_everyone_pairwise,
            "p - 1 steps of Sendrecv (Thakur, Rabenseifner, Gropp 2005)");
