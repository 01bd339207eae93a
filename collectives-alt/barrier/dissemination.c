/* Barrier by dissemination: in round k every rank tells the rank 2^k behind it and hears from the
 * rank 2^k before it; after ceil(log2 p) rounds it has heard of all.
 *
 * Source: Hensgen, Finkel, Manber, International Journal of Parallel Programming 17(1), 1988.
 * Cost: ceil(log2 p) a.
 * Messages: ceil(log2 p) empty ones from each rank, on the private communicator. */
#include "tools.h"

enum { TAG = PL_OWN_TAG };

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    for (long long distance = 1; distance < p; distance *= 2) {
        const int to = (int)((rank + distance) % p), from = (int)((rank + p - distance) % p);
        PL_TRY(pl_peer_sendrecv(call, NULL, 0, MPI_BYTE, to, TAG, NULL, 0, MPI_BYTE, from, TAG,
                                peers));
    }
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, barrier, barrier_dissemination, run,
            "ceil(log2 p) rounds of messages to all sides (Hensgen, Finkel, Manber 1988)");
