/* Alltoall as written by hand: MPI_Irecv and MPI_Isend for every rank, in order of rank, then wait
 * for all.
 *
 * Source: SKaMPI; the manual collectives of Calotoiu, Siebert, Wolf, Euro-Par 2012.
 * Cost: (p-1) a + (p-1)/p n b, with rank 0 as everyone's first goal.
 * Restrictions: none.
 * Messages: p - 1 of one block from each rank (and one to itself), in the datatypes of the call, on
 * the private communicator.
 * Scratch: 2 p requests; with MPI_IN_PLACE n bytes. */
#include "everyone.h"

PL_DESCRIBE(PL_NAIVE, alltoall, alltoall_naive_isend, pl_everyone_naive,
            "everyone to everyone with Isend, Irecv and Waitall (SKaMPI)", .scratch_volumes = 1);
