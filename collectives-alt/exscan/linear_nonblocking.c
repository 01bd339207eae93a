/* Exscan of few bytes on few ranks: every rank sends its operands to all ranks above at once, and
 * reduces alone what comes from those below.
 *
 * Source: the linear algorithm of Open MPI (coll/basic) without its chain; scan_allgather_reduce
 * with one round. Cost: a + (p-1) n b + (p-1) n g on the last rank, where messages may overlap.
 * Restrictions: none; the order is kept.
 * Messages: from every rank to each one above, on the private communicator. Vectors of more than
 * 1 MiB together go by recursive doubling.
 * Scratch: p vectors; fewer on lower ranks. */
#include "reductions.h"

static int run(const struct pl_call *call)
{
    return pl_prefix_by_flooding(call, pl_prefix_doubling);
}

PL_DESCRIBE(PL_ALGORITHM, exscan, exscan_linear_nonblocking, run,
            "operands to all ranks above at once, then local reductions",
            .scratch_volumes = PL_VOLUME_EACH);
