/* Alltoall by all messages at once, each rank beginning with the next one, so that no rank is the
 * first goal of all others.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.3 (medium messages).
 * Cost: (p-1) a + (p-1)/p n b; the network decides how much of it overlaps.
 * Restrictions: none.
 * Messages: p - 1 of one block from each rank, in the datatypes of the call, on the private
 * communicator.
 * Scratch: 2 p requests; with MPI_IN_PLACE n bytes. */
#include "everyone.h"

static int run(const struct pl_call *call)
{
    return pl_everyone_at_once(call, false);
}

const struct pl_variant pl_alltoall_linear = {
    .name = "alltoall_linear",
    .function = PL_FN_alltoall,
    .kind = PL_ALGORITHM,
    .restrictions = PL_ANY,
    .summary = "all messages at once, the next rank first (Thakur, Rabenseifner, Gropp 2005)",
    .scratch_volumes = 1,
    .run = run,
};
