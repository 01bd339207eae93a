/* Barrier as written by hand: everyone sends to rank 0, which receives rank by rank and answers
 * rank by rank.
 *
 * Source: SKaMPI; the manual collectives of Calotoiu, Siebert, Wolf, Euro-Par 2012.
 * Cost: 2 (p-1) a.
 * Messages: one empty message to rank 0 and one from it for every other rank, on the private
 * communicator. */
#include "tools.h"

enum { TAG_THERE = PL_OWN_TAG, TAG_BACK };

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    if (rank > 0) {
        PL_TRY(pl_peer_send(call, NULL, 0, MPI_BYTE, 0, TAG_THERE, peers));
        PL_TRY(pl_peer_recv(call, NULL, 0, MPI_BYTE, 0, TAG_BACK, peers));
    }
    for (int i = 1; rank == 0 && i < p; i++)
        PL_TRY(pl_peer_recv(call, NULL, 0, MPI_BYTE, i, TAG_THERE, peers));
    for (int i = 1; rank == 0 && i < p; i++)
        PL_TRY(pl_peer_send(call, NULL, 0, MPI_BYTE, i, TAG_BACK, peers));
out:
    return rc;
}

PL_DESCRIBE(PL_NAIVE, barrier, barrier_naive_send_recv, run,
            "Send to rank 0 and an answer, rank by rank (SKaMPI)");
