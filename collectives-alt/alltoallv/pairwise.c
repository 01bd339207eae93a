/* Alltoallv by pairwise exchange: alltoall/pairwise.c with blocks of any length.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.3 (long messages).
 * Cost: (p-1) a + sum over the steps of the longest block of each b.
 * Restrictions: none.
 * Messages: p - 1 from each rank, empty ones too, in the datatypes of the call, on the private
 * communicator. With MPI_IN_PLACE the two ranks of a step swap by MPI_Sendrecv_replace, since what
 * they send each other is equally long.
 * Scratch: none of ours. */
#include "everyone.h"

PL_DESCRIBE(PL_ALGORITHM, alltoallv, alltoallv_pairwise, pl_everyone_pairwise,
            "p - 1 steps of Sendrecv (Thakur, Rabenseifner, Gropp 2005)");
