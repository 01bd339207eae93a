/* Partial results over a run of ranks, in two rooms that take turns. */
#include "reductions.h"

int pl_partial_start(struct pl_partial *partial, const struct pl_call *call, int n,
                     bool into_recvbuf)
{
    int rc, commutes;
    *partial = (struct pl_partial){.call = call, .n = n, .value = pl_operand(call), .in = -1};
    PL_TRY(pl_private(call->comm, &partial->peers));
    PL_TRY(PMPI_Op_commutative(call->op, &commutes));
    partial->commutes = commutes;
    partial->room[0] = into_recvbuf ? call->recvbuf : NULL;
    partial->made[0] = into_recvbuf;
    if (into_recvbuf && call->sendbuf == MPI_IN_PLACE)
        partial->in = 0;
out:
    return rc;
}

static int make_room(struct pl_partial *partial, int i)
{
    if (partial->made[i])
        return MPI_SUCCESS;
    const struct pl_call *call = partial->call;
    partial->room[i] = pl_scratch_elements(call->comm, i == 0 ? PL_SLOT_SEND : PL_SLOT_RECV,
                                           partial->n, call->recvtype);
    partial->made[i] = partial->room[i] != NULL;
    return partial->made[i] ? MPI_SUCCESS : pl_raise(call->comm, MPI_ERR_NO_MEM);
}

int pl_partial_room(struct pl_partial *partial, void **room)
{
    const int free_one = partial->in == 0;
    const int rc = make_room(partial, free_one);
    *room = partial->room[free_one];
    return rc;
}

int pl_partial_add(struct pl_partial *partial, struct pl_range range, bool lower)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = partial->call;
    const int other = partial->in == 0;
    const MPI_Datatype type = call->recvtype;
    void *incoming = pl_at(partial->room[other], range.first, type);
    const void *value = pl_at(partial->value, range.first, type);

    if (partial->in >= 0 && (lower || partial->commutes))
        return pl_combine(call, incoming, pl_at(partial->room[partial->in], range.first, type),
                          range.count);
    if (!lower || partial->commutes) {
        PL_TRY(pl_combine(call, value, incoming, range.count));
        partial->in = other;
    } else { /* the own operands stay: they are behind, so a copy takes the result */
        PL_TRY(make_room(partial, !other));
        void *copy = pl_at(partial->room[!other], range.first, type);
        PL_TRY(pl_copy(value, copy, range.count, type, call->comm));
        PL_TRY(pl_combine(call, incoming, copy, range.count));
        partial->in = !other;
    }
    partial->value = partial->room[partial->in];
out:
    return rc;
}

void pl_partial_in_room(struct pl_partial *partial)
{
    partial->in = partial->in == 0;
    partial->value = partial->room[partial->in];
}

int pl_partial_set_aside(struct pl_partial *partial)
{
    int rc;
    void *room;
    const struct pl_call *call = partial->call;
    PL_TRY(pl_partial_room(partial, &room));
    PL_TRY(pl_copy(partial->value, room, partial->n, call->recvtype, call->comm));
    pl_partial_in_room(partial);
out:
    return rc;
}

/* Messages between neighbours of an algorithm: both know the counts, so empty ones are left out. */
static int exchange(const struct pl_partial *partial, const void *from, struct pl_range send,
                    int to, void *into, struct pl_range receive, int source)
{
    const struct pl_call *call = partial->call;
    const MPI_Datatype type = call->recvtype;
    return pl_peer_sendrecv(call, pl_at(from, send.first, type), send.count, type,
                            send.count ? to : MPI_PROC_NULL, PL_PARTIAL_TAG,
                            pl_at(into, receive.first, type), receive.count, type,
                            receive.count ? source : MPI_PROC_NULL, PL_PARTIAL_TAG, partial->peers);
}

static int send_from(const struct pl_partial *partial, const void *from, struct pl_range range,
                     int to)
{
    const struct pl_call *call = partial->call;
    if (range.count == 0)
        return MPI_SUCCESS;
    return pl_peer_send(call, pl_at(from, range.first, call->recvtype), range.count, call->recvtype,
                        to, PL_PARTIAL_TAG, partial->peers);
}

static int receive_into(const struct pl_partial *partial, void *into, struct pl_range range,
                        int from)
{
    const struct pl_call *call = partial->call;
    if (range.count == 0)
        return MPI_SUCCESS;
    return pl_peer_recv(call, pl_at(into, range.first, call->recvtype), range.count, call->recvtype,
                        from, PL_PARTIAL_TAG, partial->peers);
}

int pl_partial_send(const struct pl_partial *partial, struct pl_range range, int to)
{
    return send_from(partial, partial->value, range, to);
}

int pl_partial_receive(struct pl_partial *partial, struct pl_range range, int from, bool lower)
{
    int rc;
    void *room;
    PL_TRY(pl_partial_room(partial, &room));
    PL_TRY(receive_into(partial, room, range, from));
    PL_TRY(pl_partial_add(partial, range, lower));
out:
    return rc;
}

int pl_partial_swap(struct pl_partial *partial, struct pl_range send, struct pl_range receive,
                    int peer, void **incoming)
{
    int rc;
    PL_TRY(pl_partial_room(partial, incoming));
    PL_TRY(exchange(partial, partial->value, send, peer, *incoming, receive, peer));
out:
    return rc;
}

int pl_partial_exchange(struct pl_partial *partial, struct pl_range send, struct pl_range receive,
                        int peer, bool lower)
{
    int rc;
    void *incoming;
    PL_TRY(pl_partial_swap(partial, send, receive, peer, &incoming));
    PL_TRY(pl_partial_add(partial, receive, lower));
out:
    return rc;
}

int pl_partial_append(const struct pl_partial *partial, struct pl_range range, int from)
{
    return receive_into(partial, partial->room[partial->in], range, from);
}

int pl_partial_finish(struct pl_partial *partial, struct pl_range range)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = partial->call;
    const MPI_Datatype type = call->recvtype;
    if (partial->in == 0)
        return MPI_SUCCESS;
    PL_TRY(pl_copy(pl_at(partial->value, range.first, type),
                   pl_at(call->recvbuf, range.first, type), range.count, type, call->comm));
    partial->in = 0;
    partial->value = call->recvbuf;
out:
    return rc;
}

int pl_send_range(const struct pl_partial *partial, struct pl_range range, int to)
{
    return send_from(partial, partial->call->recvbuf, range, to);
}

int pl_receive_range(const struct pl_partial *partial, struct pl_range range, int from)
{
    return receive_into(partial, partial->call->recvbuf, range, from);
}

int pl_exchange_ranges(const struct pl_partial *partial, struct pl_range send, int to,
                       struct pl_range receive, int from)
{
    void *recvbuf = partial->call->recvbuf;
    return exchange(partial, recvbuf, send, to, recvbuf, receive, from);
}

int pl_reduce_from_each(struct pl_partial *partial, int p, int rank, int root)
{
    int rc = MPI_SUCCESS;
    const struct pl_range all = {0, partial->n};
    if (rank != root)
        return pl_partial_send(partial, all, root);
    for (int other = root - 1; other >= 0; other--)
        PL_TRY(pl_partial_receive(partial, all, other, true));
    for (int other = root + 1; other < p; other++)
        PL_TRY(pl_partial_receive(partial, all, other, false));
    PL_TRY(pl_partial_finish(partial, all));
out:
    return rc;
}
