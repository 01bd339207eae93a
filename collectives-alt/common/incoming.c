/* Operands of other ranks, added in a fixed order and taken in as they arrive. */
#include "incoming.h"

struct state {
    const struct pl_incoming *of;
    void *room; /* `window` vectors, in turn */
    MPI_Request *requests;
};

int pl_incoming_window(const struct pl_call *call, int count)
{
    MPI_Aint lb, extent;
    if (count == 2)
        return 1; /* there is one message: a plain receive is the fastest */
    if (PMPI_Type_get_extent(call->recvtype, &lb, &extent) != MPI_SUCCESS)
        return 1;
    const long long bytes = (long long)call->recvcount * (extent < 0 ? -extent : extent);
    const long long fits = bytes > 0 ? PL_INCOMING_MOST / bytes : count;
    return fits < 1 ? 1 : fits < count ? (int)fits : count;
}

/* The first vector goes straight to the sum. */
static void *place(const struct state *state, int i)
{
    const struct pl_incoming *in = state->of;
    return i == 0 ? in->sum
                  : pl_at(state->room, (long long)(i % in->window) * in->call->recvcount,
                          in->call->recvtype);
}

static int post(struct state *state, int i)
{
    const struct pl_incoming *in = state->of;
    state->requests[i % in->window] = MPI_REQUEST_NULL;
    if (i >= in->count || i == in->own_at)
        return MPI_SUCCESS;
    const int from = in->sender(in->where, i), n = in->call->recvcount;
    const MPI_Datatype type = in->call->recvtype;
    return in->window == 1
               ? pl_peer_recv(in->call, place(state, i), n, type, from, in->tag, in->peers)
               : pl_peer_irecv(in->call, place(state, i), n, type, from, in->tag, in->peers,
                               &state->requests[i % in->window]);
}

/* Takes what else arrives meanwhile: a message that waits for its turn delays no other. */
static int wait_for(struct state *state, int i)
{
    int rc = MPI_SUCCESS, arrived;
    const struct pl_incoming *in = state->of;
    while (state->requests[i % in->window] != MPI_REQUEST_NULL)
        PL_TRY(pl_raise(in->call->comm,
                        PL_MPI(Waitany)(in->window, state->requests, &arrived, MPI_STATUS_IGNORE)));
out:
    return rc;
}

static int add(const struct state *state, int i)
{
    const struct pl_incoming *in = state->of;
    const int n = in->call->recvcount;
    const void *vector = i == in->own_at ? in->own : place(state, i);
    if (i > 0)
        return pl_combine(in->call, vector, in->sum, n);
    return vector == in->sum ? MPI_SUCCESS
                             : pl_copy(vector, in->sum, n, in->call->recvtype, in->call->comm);
}

int pl_add_incoming(const struct pl_incoming *incoming)
{
    int rc;
    const struct pl_call *call = incoming->call;
    struct state state = {.of = incoming};
    state.room = pl_scratch_elements(call->comm, PL_SLOT_RECV, incoming->window * call->recvcount,
                                     call->recvtype);
    state.requests = pl_requests(call->comm, incoming->window);
    PL_NEED(call, state.room && state.requests);
    for (int i = 0; i < incoming->window - 1; i++)
        PL_TRY(post(&state, i));
    for (int i = 0; i < incoming->count; i++) {
        PL_TRY(post(&state, i + incoming->window - 1));
        PL_TRY(wait_for(&state, i));
        PL_TRY(add(&state, i));
    }
out:
    return rc;
}
