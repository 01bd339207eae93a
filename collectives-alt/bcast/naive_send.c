/* Bcast as a user would write it: the root sends to one rank after the other.
 *
 * Source: the linear broadcast of Calotoiu, Siebert, Wolf, Euro-Par 2012 (section 5.1).
 * Cost: (p-1) (a + n b).
 * Restrictions: none; any root, any layout.
 * Messages: p - 1 blocking sends of the user's datatype in order of rank; on the private
 * communicator, as those of all variants.
 * Scratch: none. */
#include "tools.h"

enum { TAG = PL_OWN_TAG };

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    if (rank != call->root) {
        PL_TRY(pl_peer_recv(call, call->recvbuf, call->recvcount, call->recvtype, call->root, TAG,
                            peers));
        return MPI_SUCCESS;
    }
    for (int to = 0; to < p; to++)
        if (to != rank)
            PL_TRY(
                pl_peer_send(call, call->recvbuf, call->recvcount, call->recvtype, to, TAG, peers));
out:
    return rc;
}

PL_DESCRIBE(PL_NAIVE, bcast, bcast_naive_send, run,
            "the root sends to one rank after the other (naive)");
