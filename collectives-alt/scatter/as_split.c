/* Scatter as `pieces` calls of Scatter, each with a part of every block; see split.h.
 *
 * Cost: pieces Scatter(n / pieces), and n bytes copied at the root, which puts the parts of one
 * call side by side.
 * Restrictions: none. Send arguments of the other ranks are not looked at.
 * Scratch: n / pieces bytes at the root, n more there with a derived type; with a derived receive
 * type one block. */
#include "parts.h"
#include "split.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const int block = (int)(pl_volume(call) / p), pieces = pl_pieces(call, block);
    const bool root = rank == call->root, in_place = call->recvbuf == MPI_IN_PLACE;
    const bool packed = !in_place && !pl_dense(call->recvtype);
    char *mine = packed ? pl_scratch(call->comm, PL_SLOT_RECV, (size_t)block) : call->recvbuf;
    char *rows = NULL;
    struct pl_part *parts = NULL;
    PL_NEED(call, !packed || mine);
    if (root) {
        const struct pl_side side = pl_send_side(call);
        const int most = pl_piece(block, pieces, 0).count;
        rows = pl_scratch(call->comm, PL_SLOT_SEND, (size_t)p * (size_t)most);
        parts = pl_part_tables(call->comm, p, 1);
        PL_NEED(call, rows && parts);
        PL_TRY(pl_parts(call->comm, &side, p, false, PL_SLOT_WORK, parts));
        PL_TRY(pl_parts_pack(call->comm, &side, 0, p, parts));
    }
    for (int j = 0; j < pieces; j++) {
        const struct pl_piece piece = pl_piece(block, pieces, j);
        if (root)
            pl_rows_fill(rows, parts, p, piece.first, piece.count);
        PL_TRY(pl_inner_Scatter(rows, piece.count, MPI_BYTE,
                                in_place ? MPI_IN_PLACE : mine + piece.first, piece.count, MPI_BYTE,
                                call->root, call->comm, call));
    }
    if (packed)
        PL_TRY(pl_unpack(mine, block, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, scatter, scatter_as_split, run,
            "several calls on parts of every block (GL2)", .scratch_volumes = 3,
            .parameters = {PL_PIECES});
