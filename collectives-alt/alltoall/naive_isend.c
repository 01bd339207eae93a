/* Alltoall as written by hand: MPI_Irecv and MPI_Isend for every rank, in order of rank, then wait
 * for all.
 *
 * Source: SKaMPI; the manual collectives of Calotoiu, Siebert, Wolf, EuroMPI 2012.
 * Cost: (p-1) a + (p-1)/p n b, with rank 0 as everyone's first goal.
 * Restrictions: none.
 * Messages: p - 1 of one block from each rank (and one to itself), in the datatypes of the call, on
 * the private communicator.
 * Scratch: 2 p requests; with MPI_IN_PLACE n bytes. */
#include "everyone.h"

static int run(const struct pl_call *call)
{
    return pl_everyone_at_once(call, true);
}

const struct pl_variant pl_alltoall_naive_isend = {
    .name = "alltoall_naive_isend",
    .function = PL_FN_alltoall,
    .kind = PL_NAIVE,
    .restrictions = PL_ANY,
    .summary = "everyone to everyone with Isend, Irecv and Waitall (SKaMPI)",
    .scratch_volumes = 1,
    .run = run,
};
