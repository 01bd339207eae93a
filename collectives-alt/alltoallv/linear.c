/* Alltoallv by all messages at once, each rank beginning with the next one: alltoall/linear.c with
 * blocks of any length.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.3 (medium messages).
 * Cost: (p-1) a + m b, with m the most bytes that a rank sends or receives.
 * Restrictions: not with MPI_IN_PLACE, which would take a copy of what is sent: scratch whose size
 * only this rank knows, so that no cap could be checked (alltoallv_pairwise takes it).
 * Messages: p - 1 from each rank, empty ones too, in the datatypes of the call, on the private
 * communicator.
 * Scratch: 2 p requests. */
#include "everyone.h"

PL_DESCRIBE(PL_ALGORITHM, alltoallv, alltoallv_linear, pl_everyone_at_once,
            "all messages at once, the next rank first (Thakur, Rabenseifner, Gropp 2005)",
            .restrictions = PL_NO_IN_PLACE);
