/* Reduce-scatter and allgather on a ring. */
#include "reductions.h"

enum { TAG = 2 };

/* After step s rank r holds the sum of s + 2 contributions to range r - s - 2 (mod p); what it
 * received moves on in the next step, so two buffers take turns. Empty ranges are not sent. */
int pl_ring(const struct pl_call *call, MPI_Comm peers, const struct pl_cut *cut, int rank,
            bool direct, void **own)
{
    int rc = MPI_SUCCESS, most = 0;
    const MPI_Datatype type = call->recvtype;
    const int p = cut->ranges, next = (rank + 1) % p, previous = (rank + p - 1) % p;
    const void *operands = pl_operand(call);
    for (int i = 0; i < p; i++)
        most = pl_cut_range(cut, i).count > most ? pl_cut_range(cut, i).count : most;
    void *incoming[2] = {pl_scratch_elements(call->comm, PL_SLOT_SEND, most, type),
                         pl_scratch_elements(call->comm, PL_SLOT_RECV, most, type)};
    PL_NEED(call, incoming[0] && incoming[1]);

    const void *leaving = pl_at(operands, pl_cut_range(cut, previous).first, type);
    for (int step = 0; step < p - 1; step++) {
        const struct pl_range send = pl_cut_range(cut, (rank - step - 1 + p) % p);
        const struct pl_range receive = pl_cut_range(cut, (rank - step - 2 + 2 * p) % p);
        void *sum = direct && step == p - 2 ? *own : incoming[step % 2];
        PL_TRY(pl_peer_sendrecv(call, leaving, send.count, type, send.count ? next : MPI_PROC_NULL,
                                TAG, sum, receive.count, type,
                                receive.count ? previous : MPI_PROC_NULL, TAG, peers));
        PL_TRY(pl_combine(call, pl_at(operands, receive.first, type), sum, receive.count));
        leaving = sum;
        if (step == p - 2)
            *own = sum;
    }
out:
    return rc;
}

int pl_ring_allgather(const struct pl_call *call, MPI_Comm peers, const struct pl_cut *cut,
                      int rank)
{
    int rc = MPI_SUCCESS;
    const MPI_Datatype type = call->recvtype;
    const int p = cut->ranges, next = (rank + 1) % p, previous = (rank + p - 1) % p;
    for (int step = 0; step < p - 1; step++) {
        const struct pl_range send = pl_cut_range(cut, (rank - step + p) % p);
        const struct pl_range receive = pl_cut_range(cut, (rank - step - 1 + p) % p);
        PL_TRY(pl_peer_sendrecv(call, pl_at(call->recvbuf, send.first, type), send.count, type,
                                send.count ? next : MPI_PROC_NULL, TAG,
                                pl_at(call->recvbuf, receive.first, type), receive.count, type,
                                receive.count ? previous : MPI_PROC_NULL, TAG, peers));
    }
out:
    return rc;
}

int pl_reduce_scatter_by_ring(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    struct pl_cut cut;
    void *own = call->recvbuf;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_cut_of(call, p, &cut));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &peers));
    const bool direct = call->sendbuf != MPI_IN_PLACE;
    PL_TRY(pl_ring(call, peers, &cut, rank, direct, &own));
    if (!direct)
        PL_TRY(pl_copy(own, call->recvbuf, pl_cut_range(&cut, rank).count, call->recvtype,
                       call->comm));
out:
    return rc;
}
