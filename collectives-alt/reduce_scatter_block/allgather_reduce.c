/* Reduce_scatter_block of few bytes: every rank gets the vectors of all others and reduces its own
 * block alone.
 *
 * Source: pull request 12200 of Open MPI (allgather, then local reductions); the gather is that of
 * Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997, section 4.
 * Cost: ceil(log2 p) a + (p-1) n b + (p-1)/p n g, for any p.
 * Restrictions: none; the order is kept.
 * Messages: ceil(log2 p) a rank, on the private communicator. Vectors of more than 1 MiB
 * together go by recursive halving.
 * Scratch: p vectors. */
#include "reductions.h"

static int run(const struct pl_call *call)
{
    return pl_by_gathering(call, pl_reduce_scatter_by_halving);
}

PL_DESCRIBE(
    PL_ALGORITHM, reduce_scatter_block, reduce_scatter_block_allgather_reduce, run,
    "Bruck's allgather of the operands, then local reductions (Open MPI, pull request 12200)",
    .scratch_volumes = PL_VOLUME_EACH);
