/* Barrier as Gather of one byte to rank 0, then Bcast of one byte.
 *
 * Source: MPI 3.1, section 5.3: rank 0 leaves the Gather when all have entered, the others leave
 * the Bcast when rank 0 has entered it. One byte each: empty messages need not be sent.
 * Cost: Gather(p bytes) + Bcast(1 byte); with binomial trees 2 ceil(log2 p) a.
 * Restrictions: none.
 * Scratch: p bytes at rank 0. */
#include "tools.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    char here = 1, *all = NULL;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (rank == 0) {
        all = pl_scratch(call->comm, PL_SLOT_RECV, (size_t)p);
        PL_NEED(call, all);
    }
    PL_TRY(pl_inner_Gather(&here, 1, MPI_BYTE, all, 1, MPI_BYTE, 0, call->comm, call));
    PL_TRY(pl_inner_Bcast(&here, 1, MPI_BYTE, 0, call->comm, call));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, barrier, barrier_as_gather_plus_bcast, run,
            "Gather of one byte to rank 0, then Bcast of one byte");
