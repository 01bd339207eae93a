/* Where the blocks of Gather(v) and Scatter(v) are. */
#include "rooted.h"

#include <string.h>

bool pl_gathers(const struct pl_call *call)
{
    return call->function == PL_FN_gather || call->function == PL_FN_gatherv;
}

struct pl_place pl_root_place(const struct pl_call *call, int rank)
{
    long long first;
    struct pl_place place;
    if (pl_gathers(call)) {
        const bool v = call->function == PL_FN_gatherv;
        place.count = v ? call->recvcounts[rank] : call->recvcount;
        place.type = call->recvtype;
        first = v ? call->rdispls[rank] : (long long)rank * call->recvcount;
        place.buf = pl_at(call->recvbuf, first, place.type);
    } else {
        const bool v = call->function == PL_FN_scatterv;
        place.count = v ? call->sendcounts[rank] : call->sendcount;
        place.type = call->sendtype;
        first = v ? call->sdispls[rank] : (long long)rank * call->sendcount;
        place.buf = pl_at(call->sendbuf, first, place.type);
    }
    return place;
}

struct pl_place pl_own_place(const struct pl_call *call)
{
    const void *buf = pl_gathers(call) ? call->sendbuf : call->recvbuf;
    if (buf == MPI_IN_PLACE)
        return (struct pl_place){NULL, 0, MPI_BYTE};
    if (pl_gathers(call))
        return (struct pl_place){(void *)buf, call->sendcount, call->sendtype};
    return (struct pl_place){(void *)buf, call->recvcount, call->recvtype};
}

static size_t bytes_of(const struct pl_place *place)
{
    int size = 0;
    PMPI_Type_size(place->type, &size);
    return (size_t)place->count * (size_t)size;
}

bool pl_place_empty(const struct pl_place *place)
{
    return bytes_of(place) == 0;
}

int pl_root_keeps(const struct pl_call *call, MPI_Comm peers)
{
    enum { TAG = 20 };
    const struct pl_place own = pl_own_place(call), kept = pl_root_place(call, call->root);
    const struct pl_place *from = pl_gathers(call) ? &own : &kept;
    const struct pl_place *to = pl_gathers(call) ? &kept : &own;
    if (pl_place_empty(&own))
        return MPI_SUCCESS;
    if (pl_dense(from->type) && pl_dense(to->type)) {
        memcpy(to->buf, from->buf, bytes_of(from));
        return MPI_SUCCESS;
    }
    return pl_raise(call->comm, PL_MPI(Sendrecv)(from->buf, from->count, from->type, call->root,
                                                 TAG, to->buf, to->count, to->type, call->root, TAG,
                                                 peers, MPI_STATUS_IGNORE));
}

int pl_rooted_begin(const struct pl_call *call, struct pl_rooted *me)
{
    int rc;
    PL_TRY(PMPI_Comm_size(call->comm, &me->p));
    PL_TRY(PMPI_Comm_rank(call->comm, &me->rank));
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
    const struct pl_place place = pl_root_place(call, rank);
    return pl_dense(place.type) && count <= me->p - rank ? place.buf : NULL;
}
