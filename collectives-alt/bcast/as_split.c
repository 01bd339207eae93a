/* Bcast as `pieces` calls of Bcast on n / pieces bytes each; see split.h.
 *
 * Cost: pieces Bcast(n / pieces).
 * Restrictions: none.
 * Scratch: none; with a derived type n bytes. */
#include "split.h"

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    PL_TRY(pl_ranks(call, &p, &rank));

    const int n = (int)pl_volume(call), pieces = pl_pieces(call, n);
    const bool dense = pl_dense(call->recvtype);
    char *all = dense ? call->recvbuf : pl_scratch(call->comm, PL_SLOT_RECV, (size_t)n);
    PL_NEED(call, all || n == 0);
    if (!dense && rank == call->root)
        PL_TRY(pl_pack(call->recvbuf, call->recvcount, call->recvtype, all, n, call->comm));
    for (int j = 0; j < pieces; j++) {
        const struct pl_piece piece = pl_piece(n, pieces, j);
        PL_TRY(
            pl_inner_Bcast(all + piece.first, piece.count, MPI_BYTE, call->root, call->comm, call));
    }
    if (!dense && rank != call->root)
        PL_TRY(pl_unpack(all, n, call->recvbuf, call->recvcount, call->recvtype, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_MOCKUP, bcast, bcast_as_split, run, "several calls on parts of the data (GL2)",
            .scratch_volumes = 1, .parameters = {PL_PIECES});
