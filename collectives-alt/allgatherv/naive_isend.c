/* Allgatherv as written by hand: allgather/naive_isend.c with parts of any length.
 *
 * Source: SKaMPI; the manual collectives of Calotoiu, Siebert, Wolf, Euro-Par 2012.
 * Cost: (p-1) a + (p-1) m b for the rank with the longest part, m bytes.
 * Restrictions: none.
 * Messages: p - 1 of one part from each rank (and one to itself), in the datatypes of the call, on
 * the private communicator.
 * Scratch: 2 p requests. */
#include "everyone.h"

PL_DESCRIBE(PL_NAIVE, allgatherv, allgatherv_naive_isend, pl_everyone_naive,
            "everyone to everyone with Isend, Irecv and Waitall (SKaMPI)");
