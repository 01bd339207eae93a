/* Gather(v) and Scatter(v) by one message between the places of the root and of each other rank. */
#include "rooted.h"

enum { TAG = 21 };

/* The i-th rank that the root turns to. */
static int turn(const struct pl_rooted *me, int i, bool naive)
{
    return naive ? i : pl_to_rank(i, me->root, me->p);
}

int pl_direct_blocking(const struct pl_call *call, bool naive)
{
    int rc;
    struct pl_rooted me;
    PL_TRY(pl_rooted_begin(call, &me));
    const bool receive = pl_gathers(call) == (me.v == 0);
    if (me.v == 0)
        PL_TRY(pl_root_keeps(call, me.peers));
    for (int i = 0; i < (me.v == 0 ? me.p : 1); i++) {
        const int peer = me.v == 0 ? turn(&me, i, naive) : me.root;
        if (peer == me.rank)
            continue;
        const struct pl_portion portion =
            me.v == 0 ? pl_root_portion(call, peer) : pl_own_portion(call);
        if (!naive && pl_portion_empty(&portion))
            continue;
        if (receive)
            PL_TRY(
                pl_peer_recv(call, portion.buf, portion.count, portion.type, peer, TAG, me.peers));
        else
            PL_TRY(
                pl_peer_send(call, portion.buf, portion.count, portion.type, peer, TAG, me.peers));
    }
out:
    return rc;
}

int pl_direct_nonblocking(const struct pl_call *call, int window, bool naive)
{
    int rc, open = 0;
    struct pl_rooted me;
    PL_TRY(pl_rooted_begin(call, &me));
    if (me.v > 0 && !naive)
        return pl_direct_blocking(call, naive);
    const bool receive = pl_gathers(call) == (me.v == 0);
    const int most = window < me.p ? window : me.p;
    MPI_Request *requests = pl_requests(call->comm, most);
    PL_NEED(call, requests);
    for (int i = 0; i < (me.v == 0 ? me.p : 1); i++) {
        const int peer = me.v == 0 ? turn(&me, i, naive) : me.root;
        if (peer == me.rank)
            continue;
        const struct pl_portion portion =
            me.v == 0 ? pl_root_portion(call, peer) : pl_own_portion(call);
        if (!naive && pl_portion_empty(&portion))
            continue;
        int slot = open;
        if (open < most)
            open++;
        else
            PL_TRY(pl_raise(call->comm, PL_MPI(Waitany)(open, requests, &slot, MPI_STATUS_IGNORE)));
        if (receive)
            PL_TRY(pl_peer_irecv(call, portion.buf, portion.count, portion.type, peer, TAG,
                                 me.peers, &requests[slot]));
        else
            PL_TRY(pl_peer_isend(call, portion.buf, portion.count, portion.type, peer, TAG,
                                 me.peers, &requests[slot]));
    }
    if (me.v == 0)
        PL_TRY(pl_root_keeps(call, me.peers));
    PL_TRY(pl_peer_wait_all(call, open, requests));
out:
    return rc;
}
