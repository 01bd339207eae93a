/* Allgatherv as Allgather of blocks padded to one length; all ranks know all counts.
 *
 * Source: Traeff, "Relationships between regular and irregular collective communication operations
 * on clustered multiprocessors", Parallel Processing Letters 19(1), 2009, for padding; the rounds
 * are ours (pl_equal_rounds): blocks that differ by at most one byte take one Allgather, very
 * uneven ones up to p, so that memory stays bounded. Cost: one Allgather(n) a round, and n bytes
 * copied unless equal blocks arrive in their places. Restrictions: none. Scratch: n + n/p bytes;
 * with a derived receive type n more, with a derived send type one block.
 */
#include "parts.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const struct pl_side side = pl_recv_side(call);
    struct pl_part *parts = pl_part_tables(call->comm, p, 1);
    PL_NEED(call, parts);
    PL_TRY(pl_parts(call->comm, &side, p, false, PL_SLOT_WORK, parts));
    const struct pl_equal_rounds rounds = pl_equal_rounds_of(&side, p);

    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    const bool even = p * rounds.width == pl_side_bytes(&side, p) && rounds.count == 1;
    const bool in_places = even && pl_parts_together(parts, p);
    char *rows = parts[0].at;
    if (!in_places) {
        rows = pl_scratch(call->comm, PL_SLOT_RECV, (size_t)p * (size_t)rounds.width);
        PL_NEED(call, rows);
    }
    struct pl_part own = parts[rank];
    if (in_place) {
        PL_TRY(pl_parts_pack(call->comm, &side, rank, 1, parts));
    } else {
        const struct pl_block block = pl_own_block(call, rank);
        const void *bytes;
        PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &bytes));
        own.at = (char *)bytes;
    }
    /* MPI_IN_PLACE is for all ranks or none, so the own slice is where it will be received. */
    char *mine = rows + (size_t)rank * (size_t)rounds.width;
    for (int j = 0; j < rounds.count; j++) {
        const int first = j * rounds.width;
        if (!in_places || !in_place)
            pl_slice_to(&own, first, rounds.width, mine);
        PL_TRY(pl_inner_Allgather(MPI_IN_PLACE, rounds.width, MPI_BYTE, rows, rounds.width,
                                  MPI_BYTE, call->comm, call));
        if (!in_places)
            pl_rows_empty(rows, parts, p, first, rounds.width);
    }
    PL_TRY(pl_parts_unpack(call->comm, &side, p, parts));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, allgatherv, allgatherv_as_allgather, run,
            "Allgather of blocks padded to one length", .scratch_volumes = 4);
