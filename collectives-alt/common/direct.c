/* Gather(v) and Scatter(v) by one message between the places of the root and of each other rank. */
#include "rooted.h"

#include <limits.h>

enum { TAG = 21 };

/* Without a request a blocking one. */
static int message(const struct pl_call *call, const struct pl_rooted *me, int peer,
                   const struct pl_portion *portion, MPI_Request *request)
{
    void *buf = portion->buf;
    const int count = portion->count;
    const MPI_Datatype type = portion->type;
    if (pl_gathers(call) == (me->v == 0))
        return request ? pl_peer_irecv(call, buf, count, type, peer, TAG, me->peers, request)
                       : pl_peer_recv(call, buf, count, type, peer, TAG, me->peers);
    return request ? pl_peer_isend(call, buf, count, type, peer, TAG, me->peers, request)
                   : pl_peer_send(call, buf, count, type, peer, TAG, me->peers);
}

/* At most `window` messages open at the root; 0: blocking ones. Naive: in order of rank, with empty
 * messages, and where the root's are not blocking, the others' are not either. */
static int direct(const struct pl_call *call, int window, bool naive)
{
    int rc, open = 0;
    struct pl_rooted me;
    PL_TRY(pl_rooted_begin(call, &me));
    const bool root = me.v == 0, blocking = window == 0 || (!root && !naive);
    const int most = window < me.p ? window : me.p;
    MPI_Request *requests = blocking ? NULL : pl_requests(call->comm, most);
    PL_NEED(call, blocking || requests);
    if (root && blocking)
        PL_TRY(pl_root_keeps(call, me.peers));
    for (int i = 0; i < (root ? me.p : 1); i++) {
        const int turn = naive ? i : pl_to_rank(i, me.root, me.p), peer = root ? turn : me.root;
        if (peer == me.rank)
            continue;
        const struct pl_portion portion = root ? pl_root_portion(call, peer) : pl_own_portion(call);
        if (!naive && pl_portion_empty(&portion))
            continue;
        int slot = open;
        if (open < most)
            open++;
        else if (!blocking)
            PL_TRY(pl_raise(call->comm, PL_MPI(Waitany)(open, requests, &slot, MPI_STATUS_IGNORE)));
        PL_TRY(message(call, &me, peer, &portion, blocking ? NULL : &requests[slot]));
    }
    if (!blocking) {
        if (root)
            PL_TRY(pl_root_keeps(call, me.peers));
        PL_TRY(pl_peer_wait_all(call, open, requests));
    }
out:
    return rc;
}

int pl_direct_naive(const struct pl_call *call)
{
    return direct(call, 0, true);
}

int pl_direct_naive_nonblocking(const struct pl_call *call)
{
    return direct(call, INT_MAX, true);
}

int pl_direct_in_turn(const struct pl_call *call)
{
    return direct(call, 0, false);
}

int pl_direct_window(const struct pl_call *call)
{
    return direct(call, call->values[0], false);
}
