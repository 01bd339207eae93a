/* Allgather as written by hand: everyone sends its block to everyone, in order of rank, then waits
 * for all.
 *
 * Source: SKaMPI; the manual collectives of Calotoiu, Siebert, Wolf, Euro-Par 2012.
 * Cost: (p-1) a + (p-1)/p n b.
 * Restrictions: none.
 * Messages: p - 1 of one block from each rank (and one to itself), in the datatypes of the call, on
 * the private communicator.
 * Scratch: 2 p requests. */
#include "everyone.h"

PL_DESCRIBE(PL_NAIVE, allgather, allgather_naive_isend, pl_everyone_naive,
            "everyone to everyone with Isend, Irecv and Waitall (SKaMPI)");
