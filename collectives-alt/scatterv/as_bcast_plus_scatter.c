/* Scatterv as Scatter of blocks padded to one length. Only the root knows all counts, so a Bcast
 * from it says how long the padded blocks are.
 *
 * Source: Traeff, "Relationships between regular and irregular collective communication operations
 * on clustered multiprocessors", Parallel Processing Letters 19(1), 2009, for padding; the rounds
 * are ours (pl_equal_rounds): blocks that differ by at most one byte take one Scatter, very uneven
 * ones up to p, so that memory stays bounded. Cost: Bcast(8 bytes) + one Scatter(n) a round, and n
 * bytes copied at the root. Restrictions: none; past INT_MAX bytes the ranks call the library's own
 * Scatterv instead. Send arguments of the other ranks are not looked at. Scratch: n bytes at the
 * root, n more there with a derived type; elsewhere n/p bytes, with a derived type one block more.
 */
#include "parts.h"

#include <string.h>

static int run(const struct pl_call *call)
{
    int rc, p, rank, size = 0;
    PL_TRY(pl_ranks(call, &p, &rank));

    const bool root = rank == call->root, in_place = call->recvbuf == MPI_IN_PLACE;
    const struct pl_side side = pl_send_side(call);
    struct pl_equal_rounds rounds = {0, 0};
    if (root)
        rounds = pl_equal_rounds_of(&side, p);
    PL_TRY(pl_inner_Bcast(&rounds, 2, MPI_INT, call->root, call->comm, call));
    if (rounds.width < 0)
        return pl_call_mpi(call);

    char *rows = NULL, *mine = NULL;
    struct pl_part *parts = NULL;
    char *pad =
        pl_scratch(call->comm, PL_SLOT_SEND, (root ? 1 + (size_t)p : 1) * (size_t)rounds.width);
    PL_NEED(call, pad);
    if (root) {
        rows = pad + rounds.width;
        parts = pl_part_tables(call->comm, p, 1);
        PL_NEED(call, parts);
        PL_TRY(pl_parts(call->comm, &side, p, false, PL_SLOT_WORK, parts));
        PL_TRY(pl_parts_pack(call->comm, &side, 0, p, parts));
    }
    int bytes = 0;
    bool packed = false;
    if (!in_place) {
        PL_TRY(PMPI_Type_size(call->recvtype, &size));
        bytes = call->recvcount * size;
        packed = !pl_dense(call->recvtype);
        mine = packed ? pl_scratch(call->comm, PL_SLOT_RECV, (size_t)bytes) : call->recvbuf;
        PL_NEED(call, !packed || mine);
    }
    for (int j = 0; j < rounds.count; j++) {
        const int first = j * rounds.width;
        const int here = pl_overlap(bytes, first, rounds.width);
        if (root)
            pl_rows_fill(rows, parts, p, first, rounds.width);
        void *landing = here == rounds.width && here > 0 ? mine + first : pad;
        PL_TRY(pl_inner_Scatter(rows, rounds.width, MPI_BYTE, in_place ? MPI_IN_PLACE : landing,
                                rounds.width, MPI_BYTE, call->root, call->comm, call));
        if (landing == pad && here > 0)
            memcpy(mine + first, pad, (size_t)here);
    }
    if (packed)
        PL_TRY(pl_unpack(mine, bytes, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, scatterv, scatterv_as_bcast_plus_scatter, run,
            "Bcast of the padded length, then Scatter", .scratch_volumes = 4);
