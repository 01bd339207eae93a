/* Allgather by neighbour exchange: ranks swap blocks with their two neighbours in turn, first their
 * own one, then two blocks a step. With odd p, where the neighbours do not pair, the ring.
 *
 * Source: Chen, Zhang, Zhang, Yuan, HPC-Asia 2005 (the ring for odd p is theirs too).
 * Cost, p even: p/2 a + (p-1)/p n b. Odd: (p-1) a + (p-1)/p n b.
 * Restrictions: none.
 * Messages: p/2 from each rank, all to the next and the previous one, on the private communicator.
 * Scratch: none; with a derived receive type n bytes.
 *
 * Blocks 2 i and 2 i + 1 are pair i, held by both its ranks after the first step. From then on the
 * even rank of pair i swaps with the one before it in odd steps s, and gets pair i - (s + 1) / 2;
 * in even steps with the one behind it, and gets pair i + s / 2. The odd rank is its mirror image.
 * What is given is what came last. */
#include "gathered.h"

enum { TAG = PL_OWN_TAG };

static int swap(const struct pl_call *call, const struct pl_gathered *parts, MPI_Comm peers,
                int other, int out, int in, int blocks)
{
    const int bytes = blocks * parts->unit;
    return pl_peer_sendrecv(call, pl_gathered_at(parts, out), bytes, MPI_BYTE, other, TAG,
                            pl_gathered_at(parts, in), bytes, MPI_BYTE, other, TAG, peers);
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    struct pl_gathered parts;
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p % 2 == 1)
        return pl_allgather_on_a_ring(call);
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(pl_gathered_begin(call, p, rank, &parts));

    const int pairs = p / 2, pair = rank / 2, mate = rank ^ 1;
    const int outside = rank % 2 ? (rank + 1) % p : (rank + p - 1) % p;
    const int away = rank % 2 ? 1 : pairs - 1; /* one pair further on the outside, mod pairs */
    int out = pair, outer = pair, inner = pair;
    PL_TRY(swap(call, &parts, peers, mate, rank, mate, 1));
    for (int step = 1; step < pairs; step++) {
        int *in = step % 2 ? &outer : &inner;
        *in = (*in + (step % 2 ? away : pairs - away)) % pairs;
        PL_TRY(swap(call, &parts, peers, step % 2 ? outside : mate, 2 * out, 2 * *in, 2));
        out = *in;
    }
    PL_TRY(pl_gathered_deliver(call, p, &parts));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_neighbor_exchange, run,
            "two blocks a step between neighbours, odd p: the ring (Chen et al. 2005)",
            .scratch_volumes = 1);
