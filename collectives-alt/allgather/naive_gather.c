/* Allgather as written by hand: everyone sends its block to rank 0, which sends all blocks back,
 * one rank after another.
 *
 * Source: the manual collectives of Calotoiu, Siebert, Wolf, Euro-Par 2012; SKaMPI.
 * Cost: 2 (p-1) a + (p + 1) (p-1)/p n b.
 * Restrictions: none.
 * Messages: one block to rank 0 and n bytes from it, on the private communicator.
 * Scratch: none; with a derived receive type n bytes. */
#include "gathered.h"

enum { TAG_THERE = PL_OWN_TAG, TAG_BACK };

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    struct pl_gathered parts;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(pl_gathered_begin(call, p, rank, &parts));
    const int all = p * parts.unit;
    if (rank > 0) {
        PL_TRY(pl_peer_send(call, pl_gathered_at(&parts, rank), parts.unit, MPI_BYTE, 0, TAG_THERE,
                            peers));
        PL_TRY(pl_peer_recv(call, parts.base, all, MPI_BYTE, 0, TAG_BACK, peers));
    }
    for (int i = 1; rank == 0 && i < p; i++)
        PL_TRY(pl_peer_recv(call, pl_gathered_at(&parts, i), parts.unit, MPI_BYTE, i, TAG_THERE,
                            peers));
    for (int i = 1; rank == 0 && i < p; i++)
        PL_TRY(pl_peer_send(call, parts.base, all, MPI_BYTE, i, TAG_BACK, peers));
    PL_TRY(pl_gathered_deliver(call, p, &parts));
out:
    return rc;
}

PL_DESCRIBE(PL_NAIVE, allgather, allgather_naive_gather, run,
            "blocks to rank 0 with Send and Recv, and all of them back (SKaMPI)",
            .scratch_volumes = 1);
