/* Scan along the ranks: the prefix of the ranks below comes in, and with the own operands goes on.
 *
 * Source: the linear algorithm of Open MPI (coll/basic).
 * Cost: (p-1) (a + n b + n g).
 * Restrictions: none; the order is kept.
 * Messages: one from every rank but the last to the next, on the private communicator.
 * Scratch: one vector. */
#include "vectors.h"

enum { TAG = PL_OWN_TAG };

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    const int n = call->recvcount;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(pl_alone(call));
    if (rank > 0) {
        void *below = pl_scratch_elements(call->comm, PL_SLOT_RECV, n, call->recvtype);
        PL_NEED(call, below);
        PL_TRY(pl_peer_recv(call, below, n, call->recvtype, rank - 1, TAG, peers));
        PL_TRY(pl_combine(call, below, call->recvbuf, n));
    }
    if (rank < p - 1)
        PL_TRY(pl_peer_send(call, call->recvbuf, n, call->recvtype, rank + 1, TAG, peers));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, scan, scan_linear, run, "the prefix passes from rank to rank (Open MPI)",
            .scratch_volumes = 2);
