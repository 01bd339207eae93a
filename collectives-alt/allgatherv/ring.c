/* Allgatherv on a ring: the messages of allgather/ring.c, each as long as its part.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.1.
 * Cost: (p-1) a + (p-1) m b, with m the longest part: a ring waits for it in every step.
 * Restrictions: none.
 * Messages: p - 1 of one part from each rank to the next, on the private communicator.
 * Scratch: none; with a derived receive type n bytes and the places of the parts. */
#include "gathered.h"

PL_DESCRIBE(PL_ALGORITHM, allgatherv, allgatherv_ring, pl_allgather_on_a_ring,
            "p - 1 parts to the next rank (Thakur, Rabenseifner, Gropp 2005)",
            .scratch_volumes = 1);
