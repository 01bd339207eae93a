/* Alltoall by the algorithm of Bruck: blocks travel by the digits of their distance in base
 * `radix`, many blocks in one message.
 *
 * Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997, section 3.
 * Cost: (r-1) ceil(log_r p) a + (r-1)/r ceil(log_r p) n b, and about 2 (1 + ceil(log_r p)) n bytes
 * copied; radix r = p is a linear Alltoall with two copies.
 * Restrictions: none.
 * Messages: (r-1) ceil(log_r p) from each rank at most, r - 1 at once, on the private communicator.
 * Scratch: 3 n bytes and 2 r requests. MPI_IN_PLACE needs no more.
 *
 * Block i of the travelling ones is the one that has i ranks to go. In the round of digit k a rank
 * sends all blocks with digit d there by d * r^k ranks, for each d, and receives blocks with the
 * same i. In the end block i has come from the rank i before. */
#include "parameters.h"
#include "tools.h"
#include <string.h>

enum { TAG = PL_OWN_TAG };

/* The next block after i, of p, whose digit at `power` is `digit`; the first one after -1. */
static int next_block(int i, int p, long long power, int radix, int digit)
{
    do
        i++;
    while (i < p && i / power % radix != digit);
    return i;
}

/* One round: at `out` and `in` lie the messages, one after another. */
static int round_of(const struct pl_call *call, MPI_Comm peers, int p, int rank, int bytes,
                    long long power, int radix, char *blocks, char *out, char *in)
{
    int rc = MPI_SUCCESS, open = 0;
    MPI_Request *requests = pl_requests(call->comm, 2 * radix);
    PL_NEED(call, requests);
    const size_t block = (size_t)bytes;
    const char *arrived = in;
    for (int digit = 1; digit < radix && digit * power < p; digit++) {
        const int distance = (int)(digit * power);
        int count = 0;
        for (int i = next_block(-1, p, power, radix, digit); i < p;
             i = next_block(i, p, power, radix, digit))
            memcpy(out + (size_t)count++ * block, blocks + (size_t)i * block, block);
        PL_TRY(pl_peer_irecv(call, in, count * bytes, MPI_BYTE, (rank + p - distance) % p, TAG,
                             peers, &requests[open]));
        open++;
        PL_TRY(pl_peer_isend(call, out, count * bytes, MPI_BYTE,
                             (int)(((long long)rank + distance) % p), TAG, peers, &requests[open]));
        open++;
        out += (size_t)count * block;
        in += (size_t)count * block;
    }
    PL_TRY(pl_peer_wait_all(call, open, requests));
    for (int digit = 1; digit < radix && digit * power < p; digit++)
        for (int i = next_block(-1, p, power, radix, digit); i < p;
             i = next_block(i, p, power, radix, digit), arrived += block)
            memcpy(blocks + (size_t)i * block, arrived, block);
out:
    return rc;
}

/* The blocks of this rank by how far they go: its own first. */
static int depart(const struct pl_call *call, int p, int rank, int bytes, char *blocks)
{
    int rc = MPI_SUCCESS;
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    const void *buf = in_place ? call->recvbuf : call->sendbuf;
    const int count = in_place ? call->recvcount : call->sendcount;
    const MPI_Datatype type = in_place ? call->recvtype : call->sendtype;
    PL_TRY(pl_pack(pl_at(buf, (long long)rank * count, type), (p - rank) * count, type, blocks,
                   (p - rank) * bytes, call->comm));
    PL_TRY(pl_pack(buf, rank * count, type, blocks + (size_t)(p - rank) * (size_t)bytes,
                   rank * bytes, call->comm));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank, size;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(PMPI_Type_size(call->recvtype, &size));
    PL_TRY(pl_private(call->comm, &peers));
    if (size == 0 || call->recvcount == 0)
        return MPI_SUCCESS;
    const int bytes = call->recvcount * size;
    const int radix = call->values[0] < p || p < 2 ? call->values[0] : p;
    const size_t all = (size_t)p * (size_t)bytes;
    char *blocks = pl_scratch(call->comm, PL_SLOT_WORK, all);
    char *out = pl_scratch(call->comm, PL_SLOT_SEND, all);
    char *in = pl_scratch(call->comm, PL_SLOT_RECV, all);
    PL_NEED(call, blocks && out && in);
    PL_TRY(depart(call, p, rank, bytes, blocks));
    for (long long power = 1; power < p; power *= radix)
        PL_TRY(round_of(call, peers, p, rank, bytes, power, radix, blocks, out, in));
    for (int i = 0; i < p; i++) {
        const long long from = (rank + p - i) % p;
        PL_TRY(pl_unpack(blocks + (size_t)i * (size_t)bytes, bytes,
                         pl_at(call->recvbuf, from * call->recvcount, call->recvtype),
                         call->recvcount, call->recvtype, call->comm));
    }
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, alltoall, alltoall_bruck, run,
            "blocks travel by the digits of their distance (Bruck et al. 1997)",
            .scratch_volumes = 3, .parameters = {PL_RADIX(2, "base of the digits", 2, 4, 8)});
