/* Gather and Scatter by one message of bytes a rank, a window of them open at the root.
 *
 * Message v, counted from the root, uses slot v mod `window`; it takes it over from message
 * v - window, which must be complete. */
#include "rooted.h"

enum { TAG = 22 };

/* The root's side of the window. */
struct window {
    int slots;
    MPI_Request *requests;
    char *scratch; /* a block a slot; NULL where bytes go to the user's memory and come from it */
};

static int open_window(const struct pl_call *call, const struct pl_rooted *me, int slot,
                       MPI_Datatype type, struct window *window)
{
    const int slots = call->values[0];
    window->slots = slots < me->p ? slots : me->p;
    window->requests = pl_requests(call->comm, window->slots);
    window->scratch = NULL;
    if (!pl_dense(type))
        window->scratch = pl_scratch(call->comm, slot, (size_t)window->slots * (size_t)me->bytes);
    return window->requests && (window->scratch || pl_dense(type))
               ? MPI_SUCCESS
               : pl_raise(call->comm, MPI_ERR_NO_MEM);
}

static char *memory_of(const struct pl_rooted *me, const struct window *window, int v,
                       const struct pl_portion *portion)
{
    return window->scratch ? window->scratch + (size_t)(v % window->slots) * (size_t)me->bytes
                           : portion->buf;
}

static int gather_root(const struct pl_call *call, const struct pl_rooted *me)
{
    int rc;
    struct window window;
    PL_TRY(pl_root_keeps(call, me->peers));
    PL_TRY(open_window(call, me, PL_SLOT_RECV, call->recvtype, &window));
    for (int v = 1; v < me->p + window.slots; v++) {
        const int done = v - window.slots;
        MPI_Request *request = &window.requests[v % window.slots];
        if (done > 0) {
            const struct pl_portion portion =
                pl_root_portion(call, pl_to_rank(done, me->root, me->p));
            const char *from = memory_of(me, &window, done, &portion);
            PL_TRY(pl_peer_wait(call, request));
            if (window.scratch)
                PL_TRY(pl_unpack(from, me->bytes, portion.buf, portion.count, portion.type,
                                 call->comm));
        }
        if (v < me->p) {
            const int rank = pl_to_rank(v, me->root, me->p);
            const struct pl_portion portion = pl_root_portion(call, rank);
            PL_TRY(pl_peer_irecv(call, memory_of(me, &window, v, &portion), me->bytes, MPI_BYTE,
                                 rank, TAG, me->peers, request));
        }
    }
out:
    return rc;
}

static int scatter_root(const struct pl_call *call, const struct pl_rooted *me)
{
    int rc;
    struct window window;
    PL_TRY(pl_root_keeps(call, me->peers));
    PL_TRY(open_window(call, me, PL_SLOT_SEND, call->sendtype, &window));
    for (int v = 1; v < me->p; v++) {
        const int rank = pl_to_rank(v, me->root, me->p);
        const struct pl_portion portion = pl_root_portion(call, rank);
        char *from = memory_of(me, &window, v, &portion);
        MPI_Request *request = &window.requests[v % window.slots];
        if (v > window.slots)
            PL_TRY(pl_peer_wait(call, request));
        if (window.scratch)
            PL_TRY(pl_pack(portion.buf, portion.count, portion.type, from, me->bytes, call->comm));
        PL_TRY(pl_peer_isend(call, from, me->bytes, MPI_BYTE, rank, TAG, me->peers, request));
    }
    for (int v = me->p; v < me->p + window.slots; v++)
        if (v > window.slots)
            PL_TRY(pl_peer_wait(call, &window.requests[v % window.slots]));
out:
    return rc;
}

int pl_window_gather(const struct pl_call *call)
{
    int rc;
    struct pl_rooted me;
    PL_TRY(pl_rooted_begin(call, &me));
    if (me.bytes == 0)
        return MPI_SUCCESS;
    if (me.v == 0)
        return gather_root(call, &me);
    const void *bytes;
    const struct pl_block block = pl_own_block(call, me.rank);
    PL_TRY(pl_block_bytes(&block, PL_SLOT_SEND, call->comm, &bytes));
    PL_TRY(pl_peer_send(call, bytes, me.bytes, MPI_BYTE, me.root, TAG, me.peers));
out:
    return rc;
}

int pl_window_scatter(const struct pl_call *call)
{
    int rc;
    struct pl_rooted me;
    PL_TRY(pl_rooted_begin(call, &me));
    if (me.bytes == 0)
        return MPI_SUCCESS;
    if (me.v == 0)
        return scatter_root(call, &me);
    void *landing;
    PL_TRY(pl_landing(call, me.bytes, PL_SLOT_RECV, &landing));
    PL_TRY(pl_peer_recv(call, landing, me.bytes, MPI_BYTE, me.root, TAG, me.peers));
    PL_TRY(pl_deliver(call, landing, me.bytes, 1));
out:
    return rc;
}
