/* Gatherv as Gather of blocks padded to one length. Only the root knows all counts, so a Bcast from
 * it says how long the padded blocks are.
 *
 * Source: Traeff, "Relationships between regular and irregular collective communication operations
 * on clustered multiprocessors", Parallel Processing Letters 19(1), 2009, for padding; the rounds
 * are ours (pl_equal_rounds): blocks that differ by at most one byte take one Gather, very uneven
 * ones up to p, so that memory stays bounded. Cost: Bcast(8 bytes) + one Gather(n) a round, and n
 * bytes copied at the root. Restrictions: none; past INT_MAX bytes the ranks call the library's own
 * Gatherv instead. Receive arguments of the other ranks are not looked at. Scratch: n bytes at the
 * root, n more there with a derived type; elsewhere n/p bytes, with a derived type one block more.
 */
#include "parts.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const bool root = rank == call->root;
    const struct pl_side side = pl_recv_side(call);
    struct pl_equal_rounds rounds = {0, 0};
    if (root)
        rounds = pl_equal_rounds_of(&side, p);
    PL_TRY(pl_inner_Bcast(&rounds, 2, MPI_INT, call->root, call->comm, call));
    if (rounds.width < 0)
        return pl_call_mpi(call);

    struct pl_part own = {NULL, 0}, *parts = NULL;
    char *rows = NULL;
    char *pad =
        pl_scratch(call->comm, PL_SLOT_RECV, (root ? 1 + (size_t)p : 1) * (size_t)rounds.width);
    PL_NEED(call, pad);
    if (root) {
        rows = pad + rounds.width;
        parts = pl_part_tables(call->comm, p, 1);
        PL_NEED(call, parts);
        PL_TRY(pl_parts(call->comm, &side, p, false, PL_SLOT_WORK, parts));
        own = parts[rank];
    }
    if (call->sendbuf == MPI_IN_PLACE) {
        PL_TRY(pl_parts_pack(call->comm, &side, rank, 1, parts));
    } else {
        const struct pl_block block = pl_own_block(call, rank);
        const void *bytes;
        PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &bytes));
        own = (struct pl_part){(char *)bytes, block.bytes};
    }
    for (int j = 0; j < rounds.count; j++) {
        const int first = j * rounds.width;
        PL_TRY(pl_inner_Gather(pl_slice(&own, first, rounds.width, pad), rounds.width, MPI_BYTE,
                               rows, rounds.width, MPI_BYTE, call->root, call->comm, call));
        if (root)
            pl_rows_empty(rows, parts, p, first, rounds.width);
    }
    if (root)
        PL_TRY(pl_parts_unpack(call->comm, &side, p, parts));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, gatherv, gatherv_as_bcast_plus_gather, run,
            "Bcast of the padded length, then Gather", .scratch_volumes = 4);
