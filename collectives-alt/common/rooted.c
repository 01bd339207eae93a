/* Where the blocks of Gather(v) and Scatter(v) are. */
#include "rooted.h"

#include <string.h>

bool pl_gathers(const struct pl_call *call)
{
    return call->function == PL_FN_gather || call->function == PL_FN_gatherv;
}

struct pl_portion pl_root_portion(const struct pl_call *call, int rank)
{
    long long first;
    struct pl_portion portion;
    if (pl_gathers(call)) {
        const bool v = call->function == PL_FN_gatherv;
        portion.count = v ? call->recvcounts[rank] : call->recvcount;
        portion.type = call->recvtype;
        first = v ? call->rdispls[rank] : (long long)rank * call->recvcount;
        portion.buf = pl_at(call->recvbuf, first, portion.type);
    } else {
        const bool v = call->function == PL_FN_scatterv;
        portion.count = v ? call->sendcounts[rank] : call->sendcount;
        portion.type = call->sendtype;
        first = v ? call->sdispls[rank] : (long long)rank * call->sendcount;
        portion.buf = pl_at(call->sendbuf, first, portion.type);
    }
    return portion;
}

struct pl_portion pl_own_portion(const struct pl_call *call)
{
    const void *buf = pl_gathers(call) ? call->sendbuf : call->recvbuf;
    if (buf == MPI_IN_PLACE)
        return (struct pl_portion){NULL, 0, MPI_BYTE};
    if (pl_gathers(call))
        return (struct pl_portion){(void *)buf, call->sendcount, call->sendtype};
    return (struct pl_portion){(void *)buf, call->recvcount, call->recvtype};
}

static size_t bytes_of(const struct pl_portion *portion)
{
    return (size_t)portion->count * (size_t)pl_size_of(portion->type);
}

bool pl_portion_empty(const struct pl_portion *portion)
{
    return bytes_of(portion) == 0;
}

int pl_root_keeps(const struct pl_call *call, MPI_Comm peers)
{
    enum { TAG = 20 };
    const struct pl_portion own = pl_own_portion(call), kept = pl_root_portion(call, call->root);
    const struct pl_portion *from = pl_gathers(call) ? &own : &kept;
    const struct pl_portion *to = pl_gathers(call) ? &kept : &own;
    if (pl_portion_empty(&own))
        return MPI_SUCCESS;
    if (pl_dense(from->type) && pl_dense(to->type)) {
        memcpy(to->buf, from->buf, bytes_of(from));
        return MPI_SUCCESS;
    }
    return pl_peer_sendrecv(call, from->buf, from->count, from->type, call->root, TAG, to->buf,
                            to->count, to->type, call->root, TAG, peers);
}

int pl_rooted_begin(const struct pl_call *call, struct pl_rooted *me)
{
    int rc;
    PL_TRY(pl_ranks(call, &me->p, &me->rank));
    PL_TRY(pl_private(call->comm, &me->peers));
    me->root = call->root;
    me->v = pl_from_root(me->rank, call->root, me->p);
    const long long volume = pl_volume(call);
    me->bytes = volume < 0 ? 0 : (int)(volume / me->p);
out:
    return rc;
}

char *pl_root_range(const struct pl_call *call, const struct pl_rooted *me, int v, int count)
{
    const int rank = pl_to_rank(v, me->root, me->p);
    const struct pl_portion portion = pl_root_portion(call, rank);
    return pl_dense(portion.type) && count <= me->p - rank ? portion.buf : NULL;
}
