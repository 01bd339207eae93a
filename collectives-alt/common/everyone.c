/* Everyone to everyone, directly. */
#include "everyone.h"

#include <limits.h>
#include <string.h>

enum { TAG_AT_ONCE = 11, TAG_PAIRWISE = 12, TAG_OWN = 13 };

/* Displacements of Alltoallw are in bytes. An empty block may have no datatype (pl_bears_unsent).
 */
static struct pl_block typed(const void *buf, int count, int displ, MPI_Datatype type)
{
    return (struct pl_block){pl_at(buf, displ, MPI_BYTE), count, count > 0 ? type : MPI_BYTE, 0};
}

struct pl_block pl_from(const struct pl_call *call, int other)
{
    if (call->recvtypes)
        return typed(call->recvbuf, call->recvcounts[other], call->rdispls[other],
                     call->recvtypes[other]);
    const int count = call->recvcounts ? call->recvcounts[other] : call->recvcount;
    const long long first = call->rdispls ? call->rdispls[other] : (long long)other * count;
    return (struct pl_block){pl_at(call->recvbuf, first, call->recvtype), count, call->recvtype, 0};
}

struct pl_block pl_to(const struct pl_call *call, int other)
{
    if (call->function == PL_FN_allgather || call->function == PL_FN_allgatherv ||
        call->function == PL_FN_neighbor_allgather || call->function == PL_FN_neighbor_allgatherv)
        return (struct pl_block){call->sendbuf, call->sendcount, call->sendtype, 0};
    if (call->sendtypes)
        return typed(call->sendbuf, call->sendcounts[other], call->sdispls[other],
                     call->sendtypes[other]);
    const int count = call->sendcounts ? call->sendcounts[other] : call->sendcount;
    const long long first = call->sdispls ? call->sdispls[other] : (long long)other * count;
    return (struct pl_block){pl_at(call->sendbuf, first, call->sendtype), count, call->sendtype, 0};
}

/* The other end of a message, or MPI_PROC_NULL for an empty one of Alltoallw, which both ends know:
 * their datatypes have the same signature. */
static int end_of(const struct pl_call *call, const struct pl_block *block, int other)
{
    const bool sends = !call->recvtypes || (block->count > 0 && pl_size_of(block->type) != 0);
    return sends ? other : MPI_PROC_NULL;
}

static int send_and_receive(const struct pl_call *call, MPI_Comm peers, const struct pl_block *out,
                            int to, const struct pl_block *in, int from, int tag)
{
    return pl_peer_sendrecv(call, out->buf, out->count, out->type, end_of(call, out, to), tag,
                            (void *)in->buf, in->count, in->type, end_of(call, in, from), tag,
                            peers);
}

int pl_keep_own(const struct pl_call *call, MPI_Comm peers, int rank)
{
    if (call->sendbuf == MPI_IN_PLACE)
        return MPI_SUCCESS;
    const struct pl_block out = pl_to(call, rank), in = pl_from(call, rank);
    int size = 0;
    PMPI_Type_size(in.type, &size);
    if (in.count == 0 || size == 0)
        return MPI_SUCCESS;
    if (!pl_dense(out.type) || !pl_dense(in.type))
        return send_and_receive(call, peers, &out, rank, &in, rank, TAG_OWN);
    memcpy((void *)in.buf, out.buf, (size_t)in.count * (size_t)size);
    return MPI_SUCCESS;
}

/* All that an Alltoall in place sends, packed before anything arrives. */
static int put_aside(const struct pl_call *call, int p, int *bytes, char **packed)
{
    int rc, size;
    PL_TRY(PMPI_Type_size(call->recvtype, &size));
    *bytes = size > 0 ? call->recvcount * size : 0;
    *packed = pl_scratch(call->comm, PL_SLOT_SEND, (size_t)p * (size_t)*bytes);
    PL_NEED(call, *packed);
    if (*bytes > 0)
        PL_TRY(pl_pack(call->recvbuf, p * call->recvcount, call->recvtype, *packed, p * *bytes,
                       call->comm));
out:
    return rc;
}

/* At most `window` receives and as many sends are open: step i waits for step i - window. */
static int at_once(const struct pl_call *call, bool naive, int window)
{
    int rc, p, rank, open = 0, bytes = 0;
    MPI_Comm peers;
    char *packed = NULL;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    const int most = 2 * (window < p ? window : p);
    MPI_Request *requests = pl_requests(call->comm, most);
    PL_NEED(call, requests);
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    if (in_place && call->function == PL_FN_alltoall)
        PL_TRY(put_aside(call, p, &bytes, &packed));

    for (int i = naive ? 0 : 1; i < p; i++) {
        const int from = naive ? i : (rank + p - i) % p, to = naive ? i : (rank + i) % p;
        if (naive && in_place && i == rank)
            continue;
        const struct pl_block in = pl_from(call, from);
        struct pl_block out;
        if (packed) /* MPI_PACKED matches any datatype */
            out = (struct pl_block){packed + (size_t)to * (size_t)bytes, bytes, MPI_PACKED, 0};
        else
            out = in_place ? pl_from(call, rank) : pl_to(call, to);
        MPI_Request *pair = &requests[open];
        if (i > window && !naive) {
            pair = &requests[2 * ((i - 1) % window)];
            PL_TRY(pl_peer_wait_all(call, 2, pair));
        } else {
            open += 2;
        }
        PL_TRY(pl_peer_irecv(call, (void *)in.buf, in.count, in.type, end_of(call, &in, from),
                             TAG_AT_ONCE, peers, &pair[0]));
        PL_TRY(pl_peer_isend(call, out.buf, out.count, out.type, end_of(call, &out, to),
                             TAG_AT_ONCE, peers, &pair[1]));
    }
    if (!naive)
        PL_TRY(pl_keep_own(call, peers, rank));
    PL_TRY(pl_peer_wait_all(call, open, requests));
out:
    return rc;
}

int pl_everyone_at_once(const struct pl_call *call)
{
    return at_once(call, false, INT_MAX);
}

int pl_everyone_in_a_window(const struct pl_call *call)
{
    return at_once(call, false, call->values[0]);
}

int pl_everyone_naive(const struct pl_call *call)
{
    return at_once(call, true, INT_MAX);
}

/* In place a block can go only where its own replacement comes from: in step s the ranks whose
 * numbers sum to s (mod p) swap. */
int pl_everyone_pairwise(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    if (call->sendbuf == MPI_IN_PLACE) {
        for (int step = 0; step < p; step++) {
            const int other = (step + p - rank) % p;
            const struct pl_block in = pl_from(call, other);
            const int end = end_of(call, &in, other);
            if (other != rank)
                PL_TRY(pl_raise(call->comm,
                                PL_MPI(Sendrecv_replace)((void *)in.buf, in.count, in.type, end,
                                                         TAG_PAIRWISE, end, TAG_PAIRWISE, peers,
                                                         MPI_STATUS_IGNORE)));
        }
        return rc;
    }
    PL_TRY(pl_keep_own(call, peers, rank));
    for (int step = 1; step < p; step++) {
        const int to = (rank + step) % p, from = (rank + p - step) % p;
        const struct pl_block out = pl_to(call, to), in = pl_from(call, from);
        PL_TRY(send_and_receive(call, peers, &out, to, &in, from, TAG_PAIRWISE));
    }
out:
    return rc;
}
