/* Where the parts of an Allgather or Allgatherv are while they travel: in the receive buffer itself
 * if its type is dense, else packed one after another. */
#include "gathered.h"

#include <stdint.h>

void *pl_gathered_at(const struct pl_gathered *parts, int i)
{
    const intptr_t first = parts->firsts ? parts->firsts[i] : i;
    return (void *)((intptr_t)parts->base + first * parts->unit);
}

int pl_gathered_bytes(const struct pl_gathered *parts, int i)
{
    return parts->counts ? parts->counts[i] * parts->unit : parts->unit;
}

int pl_gathered_span(const struct pl_gathered *parts, int p, int first, int count)
{
    if (!parts->counts)
        return count * parts->unit;
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += pl_gathered_bytes(parts, first + i < p ? first + i : first + i - p);
    return sum;
}

/* Tells whether each part of an Allgatherv ends where the next one begins. */
static bool in_a_row(const struct pl_call *call, int p)
{
    for (int i = 0; i + 1 < p; i++)
        if ((long long)call->rdispls[i] + call->recvcounts[i] != call->rdispls[i + 1])
            return false;
    return true;
}

/* The parts of an Allgatherv that are packed: where each begins. */
static int make_room(const struct pl_call *call, int p, struct pl_gathered *parts)
{
    int *firsts = pl_scratch(call->comm, PL_SLOT_AUX, (size_t)p * sizeof *firsts);
    if (!firsts)
        return pl_raise(call->comm, MPI_ERR_NO_MEM);
    int elements = 0;
    for (int i = 0; i < p; i++) {
        firsts[i] = parts->unit > 0 ? elements : 0;
        elements += parts->unit > 0 ? call->recvcounts[i] : 0;
    }
    parts->firsts = firsts;
    parts->base = pl_scratch(call->comm, PL_SLOT_RECV, (size_t)elements * (size_t)parts->unit);
    return parts->base ? MPI_SUCCESS : pl_raise(call->comm, MPI_ERR_NO_MEM);
}

static int begin(const struct pl_call *call, int p, int rank, bool row, struct pl_gathered *parts)
{
    int rc = MPI_SUCCESS;
    struct pl_block own;
    if (call->function == PL_FN_allgather) {
        own = pl_own_block(call, rank);
        *parts = (struct pl_gathered){.unit = own.bytes};
        PL_TRY(pl_landing(call, p * own.bytes, PL_SLOT_RECV, &parts->base));
    } else {
        *parts = (struct pl_gathered){call->recvbuf, 0, call->recvcounts, call->rdispls};
        PL_TRY(PMPI_Type_size(call->recvtype, &parts->unit));
        if (!pl_dense(call->recvtype) || (row && !in_a_row(call, p)))
            PL_TRY(make_room(call, p, parts));
        own = (struct pl_block){call->sendbuf, call->sendcount, call->sendtype,
                                pl_gathered_bytes(parts, rank)};
        if (call->sendbuf == MPI_IN_PLACE)
            own = (struct pl_block){pl_at(call->recvbuf, call->rdispls[rank], call->recvtype),
                                    call->recvcounts[rank], call->recvtype, own.bytes};
    }
    void *place = pl_gathered_at(parts, rank);
    if (place != own.buf)
        PL_TRY(pl_pack(own.buf, own.count, own.type, place, own.bytes, call->comm));
out:
    return rc;
}

int pl_gathered_begin(const struct pl_call *call, int p, int rank, struct pl_gathered *parts)
{
    return begin(call, p, rank, false, parts);
}

int pl_gathered_begin_in_a_row(const struct pl_call *call, int p, int rank,
                               struct pl_gathered *parts)
{
    return begin(call, p, rank, true, parts);
}

int pl_gathered_deliver(const struct pl_call *call, int p, const struct pl_gathered *parts)
{
    int rc = MPI_SUCCESS;
    if (call->function == PL_FN_allgather)
        return pl_deliver(call, parts->base, p * parts->unit, p);
    for (int i = 0; i < p && parts->base != call->recvbuf; i++)
        PL_TRY(pl_unpack(pl_gathered_at(parts, i), pl_gathered_bytes(parts, i),
                         pl_at(call->recvbuf, call->rdispls[i], call->recvtype),
                         call->recvcounts[i], call->recvtype, call->comm));
out:
    return rc;
}
