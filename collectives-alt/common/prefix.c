/* Scan and Exscan by recursive doubling. */
#include "reductions.h"

/* Groups of 1, 2, 4, … neighbouring ranks meet: the value is the result over this rank's group. It
 * goes in front of what ranks above have, and what comes from below is part of the own prefix. A
 * group that p cuts off may have an incomplete value; it has only ranks below, which do not use it.
 * Exscan leaves the own operands out; rank 0 has no prefix then. */
int pl_prefix_doubling(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_partial partial;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_partial_start(&partial, call, call->recvcount, false));

    const MPI_Datatype type = call->recvtype;
    const int n = call->recvcount;
    const struct pl_range all = {0, n};
    bool prefix = call->function == PL_FN_scan; /* recvbuf is one */
    if (call->sendbuf == MPI_IN_PLACE && rank > 0)
        PL_TRY(pl_partial_set_aside(&partial));
    if (prefix)
        PL_TRY(pl_alone(call));

    for (int distance = 1; distance < p; distance *= 2) {
        const int peer = rank ^ distance;
        const bool lower = peer < rank;
        void *incoming;
        if (peer >= p)
            continue;
        PL_TRY(pl_partial_swap(&partial, all, all, peer, &incoming));
        if (lower && prefix)
            PL_TRY(pl_combine(call, incoming, call->recvbuf, n));
        else if (lower)
            PL_TRY(pl_copy(incoming, call->recvbuf, n, type, call->comm));
        prefix |= lower;
        if (distance < p - distance)
            PL_TRY(pl_partial_add(&partial, all, lower));
    }
out:
    return rc;
}
