/* Gather and Scatter by one message of bytes a rank, a window of them open at the root.
 *
 * Messages complete in any order. The next one takes the slot of whichever is complete. */
#include "rooted.h"

enum { TAG = 22 };

/* The root's side of the window. */
struct window {
    int slots, open; /* how many there are, and how many were used */
    MPI_Request *requests;
    int *peers;    /* by slot: whose message it is, counted from the root */
    char *scratch; /* a block a slot; NULL where bytes go to the user's memory and come from it */
};

static int open_window(const struct pl_call *call, const struct pl_rooted *me, int slot,
                       MPI_Datatype type, struct window *window)
{
    const int most = call->values[0], slots = most < me->p ? most : me->p;
    *window = (struct window){.slots = slots, .requests = pl_requests(call->comm, slots)};
    window->peers = pl_scratch(call->comm, PL_SLOT_AUX, (size_t)slots * sizeof *window->peers);
    if (!pl_dense(type))
        window->scratch = pl_scratch(call->comm, slot, (size_t)slots * (size_t)me->bytes);
    return window->requests && window->peers && (window->scratch || pl_dense(type))
               ? MPI_SUCCESS
               : pl_raise(call->comm, MPI_ERR_NO_MEM);
}

static char *memory_of(const struct pl_rooted *me, const struct window *window, int slot,
                       const struct pl_portion *portion)
{
    return window->scratch ? window->scratch + (size_t)slot * (size_t)me->bytes : portion->buf;
}

/* The slot whose message completes first. A block that was gathered goes to its place. */
static int complete(const struct pl_call *call, const struct pl_rooted *me,
                    const struct window *window, int *slot)
{
    int rc;
    PL_TRY(pl_raise(call->comm,
                    PL_MPI(Waitany)(window->open, window->requests, slot, MPI_STATUS_IGNORE)));
    if (window->scratch && pl_gathers(call)) {
        const int rank = pl_to_rank(window->peers[*slot], me->root, me->p);
        const struct pl_portion portion = pl_root_portion(call, rank);
        PL_TRY(pl_unpack(memory_of(me, window, *slot, &portion), me->bytes, portion.buf,
                         portion.count, portion.type, call->comm));
    }
out:
    return rc;
}

/* The slot of the message with peer v: a fresh one while there are such. */
static int take_slot(const struct pl_call *call, const struct pl_rooted *me, struct window *window,
                     int v, int *slot)
{
    int rc = MPI_SUCCESS;
    if (window->open < window->slots)
        *slot = window->open++;
    else
        PL_TRY(complete(call, me, window, slot));
    window->peers[*slot] = v;
out:
    return rc;
}

static int close_window(const struct pl_call *call, const struct pl_rooted *me,
                        const struct window *window)
{
    int rc = MPI_SUCCESS, slot;
    if (!window->scratch || !pl_gathers(call))
        return pl_peer_wait_all(call, window->open, window->requests);
    for (int i = 0; i < window->open; i++)
        PL_TRY(complete(call, me, window, &slot));
out:
    return rc;
}

static int gather_root(const struct pl_call *call, const struct pl_rooted *me)
{
    int rc, slot;
    struct window window;
    PL_TRY(open_window(call, me, PL_SLOT_RECV, call->recvtype, &window));
    for (int v = 1; v < me->p; v++) {
        const int rank = pl_to_rank(v, me->root, me->p);
        const struct pl_portion portion = pl_root_portion(call, rank);
        PL_TRY(take_slot(call, me, &window, v, &slot));
        PL_TRY(pl_peer_irecv(call, memory_of(me, &window, slot, &portion), me->bytes, MPI_BYTE,
                             rank, TAG, me->peers, &window.requests[slot]));
    }
    PL_TRY(pl_root_keeps(call, me->peers));
    PL_TRY(close_window(call, me, &window));
out:
    return rc;
}

static int scatter_root(const struct pl_call *call, const struct pl_rooted *me)
{
    int rc, slot;
    struct window window;
    PL_TRY(open_window(call, me, PL_SLOT_SEND, call->sendtype, &window));
    for (int v = 1; v < me->p; v++) {
        const int rank = pl_to_rank(v, me->root, me->p);
        const struct pl_portion portion = pl_root_portion(call, rank);
        PL_TRY(take_slot(call, me, &window, v, &slot));
        char *from = memory_of(me, &window, slot, &portion);
        if (window.scratch)
            PL_TRY(pl_pack(portion.buf, portion.count, portion.type, from, me->bytes, call->comm));
        PL_TRY(pl_peer_isend(call, from, me->bytes, MPI_BYTE, rank, TAG, me->peers,
                             &window.requests[slot]));
    }
    PL_TRY(pl_root_keeps(call, me->peers));
    PL_TRY(close_window(call, me, &window));
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
