/* Exscan along the ranks: the prefix of the ranks below is the result, and with the own operands
 * behind it goes on. Rank 0 leaves its receive buffer alone.
 *
 * Source: the linear algorithm of Open MPI (coll/basic).
 * Cost: (p-1) (a + n b) + (p-2) n g.
 * Restrictions: none; the order is kept.
 * Messages: one from every rank but the last to the next, on the private communicator.
 * Scratch: one vector, two in place. */
#include "vectors.h"

enum { TAG = PL_OWN_TAG };

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    const MPI_Datatype type = call->recvtype;
    const int n = call->recvcount;
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));

    void *below = call->recvbuf;
    const void *leaving = pl_operand(call);
    if (rank > 0) {
        if (in_place)
            below = pl_scratch_elements(call->comm, PL_SLOT_RECV, n, type);
        void *sum = pl_scratch_elements(call->comm, PL_SLOT_SEND, n, type);
        PL_NEED(call, (!in_place || below) && sum);
        PL_TRY(pl_peer_recv(call, below, n, type, rank - 1, TAG, peers));
        if (rank < p - 1) {
            PL_TRY(pl_copy(leaving, sum, n, type, call->comm));
            PL_TRY(pl_combine(call, below, sum, n));
        }
        leaving = sum;
    }
    if (rank < p - 1)
        PL_TRY(pl_peer_send(call, leaving, n, type, rank + 1, TAG, peers));
    if (rank > 0 && in_place)
        PL_TRY(pl_copy(below, call->recvbuf, n, type, call->comm));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, exscan, exscan_linear, run,
            "the prefix passes from rank to rank (Open MPI)", .scratch_volumes = 3);
