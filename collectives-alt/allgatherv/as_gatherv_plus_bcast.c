/* Allgatherv as Gatherv to rank 0, then Bcast.
 *
 * Source: as guideline GL11 of Hunold, Carpen-Amarie, Luebbe, Traeff, Euro-Par 2016, appendix A,
 * for blocks of several lengths.
 * Cost: Gatherv(n) + Bcast(n); n bytes copied unless the blocks lie one after another.
 * Restrictions: none.
 * Scratch: 2 p integers; n bytes unless the type is dense and the blocks lie one after another;
 * with a derived send type one block. */
#include "parts.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_side side = pl_recv_side(call);
    const int n = (int)pl_side_bytes(&side, p);
    struct pl_part *parts = pl_part_tables(call->comm, p, 1);
    int *counts = pl_scratch(call->comm, PL_SLOT_WORK, 2 * (size_t)p * sizeof *counts);
    PL_NEED(call, parts && counts);
    PL_TRY(pl_parts(call->comm, &side, p, false, PL_SLOT_RECV, parts));
    if (!pl_parts_together(parts, p))
        PL_TRY(pl_parts(call->comm, &side, p, true, PL_SLOT_RECV, parts));
    int *first = counts + p;
    for (int i = 0, sum = 0; i < p; i++) {
        counts[i] = parts[i].bytes;
        first[i] = sum;
        sum += counts[i];
    }

    const void *own;
    if (call->sendbuf == MPI_IN_PLACE) {
        PL_TRY(pl_parts_pack(call->comm, &side, rank, 1, parts));
        own = rank == 0 ? MPI_IN_PLACE : parts[rank].at;
    } else {
        const struct pl_block block = pl_own_block(call, rank);
        PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &own));
    }
    PL_TRY(pl_inner_Gatherv(own, counts[rank], MPI_BYTE, parts[0].at, counts, first, MPI_BYTE, 0,
                            call->comm, call));
    PL_TRY(pl_inner_Bcast(parts[0].at, n, MPI_BYTE, 0, call->comm, call));
    PL_TRY(pl_parts_unpack(call->comm, &side, p, parts));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allgatherv, allgatherv_as_gatherv_plus_bcast, run,
            "Gatherv to rank 0, then Bcast", .scratch_volumes = 2);
