/* Exscan of few bytes: every rank gets the vectors of those below it and reduces them alone. Rank 0
 * leaves its receive buffer alone.
 *
 * Source: pull request 12200 of Open MPI (allgather, then local reductions); the gather is that of
 * Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997, section 4.
 * Cost: ceil(log2 p) a + (p-1) n b + (p-1) n g on the last rank, for any p.
 * Restrictions: none; the order is kept.
 * Messages: ceil(log2 p) a rank, on the private communicator. Vectors of more than 1 MiB
 * together go by recursive doubling.
 * Scratch: p vectors; fewer on lower ranks. */
#include "reductions.h"

static int run(const struct pl_call *call)
{
    return pl_by_gathering(call, pl_prefix_doubling);
}

PL_DESCRIBE(
    PL_ALGORITHM, exscan, exscan_allgather_reduce, run,
    "Bruck's allgather of the operands, then local reductions (Open MPI, pull request 12200)",
    .scratch_volumes = PL_VOLUME_EACH);
