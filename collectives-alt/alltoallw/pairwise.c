/* Alltoallw by pairwise exchange: alltoallv/pairwise.c with a datatype for each block.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.3 (long messages).
 * Cost: k a + sum over the steps of the longest block of each b, with k the steps in which a block
 * is not empty.
 * Restrictions: none.
 * Messages: one from each rank for each block that is not empty, in the datatypes of the call, on
 * the private communicator. With MPI_IN_PLACE the two ranks of a step swap by MPI_Sendrecv_replace.
 * Scratch: none of ours. */
#include "everyone.h"

PL_DESCRIBE(PL_ALGORITHM, alltoallw, alltoallw_pairwise, pl_everyone_pairwise,
            "p - 1 steps of Sendrecv, without empty messages (Thakur, Rabenseifner, Gropp 2005)");
