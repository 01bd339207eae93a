/* Barrier through rank 0, which takes the reports as they come and releases all at once.
 *
 * Source: Hoefler, Mehlan, Mietke, Rehm, Chemnitzer Informatik-Berichte CSR-04-03, 2004 (central
 * counter).
 * Cost: 2 (p-1) a at rank 0, of which as much overlaps as the library lets.
 * Messages: one empty message to rank 0 and one from it for every other rank, on the private
 * communicator.
 * Scratch: p requests. */
#include "tools.h"

enum { TAG_THERE = PL_OWN_TAG, TAG_BACK };

static int release(const struct pl_call *call, MPI_Comm peers, int p)
{
    int rc = MPI_SUCCESS;
    MPI_Request *requests = pl_requests(call->comm, p);
    PL_NEED(call, requests);
    for (int i = 1; i < p; i++)
        PL_TRY(pl_peer_irecv(call, NULL, 0, MPI_BYTE, i, TAG_THERE, peers, &requests[i - 1]));
    PL_TRY(pl_peer_wait_all(call, p - 1, requests));
    for (int i = 1; i < p; i++)
        PL_TRY(pl_peer_isend(call, NULL, 0, MPI_BYTE, i, TAG_BACK, peers, &requests[i - 1]));
    PL_TRY(pl_peer_wait_all(call, p - 1, requests));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    if (rank == 0)
        return release(call, peers, p);
    PL_TRY(pl_peer_send(call, NULL, 0, MPI_BYTE, 0, TAG_THERE, peers));
    PL_TRY(pl_peer_recv(call, NULL, 0, MPI_BYTE, 0, TAG_BACK, peers));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, barrier, barrier_linear, run,
            "reports to rank 0 in any order, release at once (Hoefler et al. 2004)");
