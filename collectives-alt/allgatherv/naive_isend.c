/* Allgatherv as written by hand: allgather/naive_isend.c with parts of any length.
 *
 * Source: SKaMPI; the manual collectives of Calotoiu, Siebert, Wolf, EuroMPI 2012.
 * Cost: (p-1) a + (p-1) m b for the rank with the longest part, m bytes.
 * Restrictions: none.
 * Messages: p - 1 of one part from each rank (and one to itself), in the datatypes of the call, on
 * the private communicator.
 * Scratch: 2 p requests. */
#include "everyone.h"

static int run(const struct pl_call *call)
{
    return pl_everyone_at_once(call, true);
}

const struct pl_variant pl_allgatherv_naive_isend = {
    .name = "allgatherv_naive_isend",
    .function = PL_FN_allgatherv,
    .kind = PL_NAIVE,
    .restrictions = PL_ANY,
    .summary = "everyone to everyone with Isend, Irecv and Waitall (SKaMPI)",
    .run = run,
};
