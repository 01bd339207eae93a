/* Allgatherv on a circulant graph: all ranks broadcast their parts at once, each cut into the same
 * number k of blocks, as in bcast/circulant.c. In every round each rank sends one message to one
 * neighbour and receives one from the neighbour opposite, with a block of nearly every part.
 *
 * Source: Traeff, "Fast(er) Construction of Round-optimal n-Block Broadcast Schedules", CLUSTER
 * 2022 (arXiv 2205.10072); see common/circulant.h.
 * Cost: (k - 1 + ceil(log2 p)) (a + n/k b), k = n/s with messages of about s bytes, and 2 n bytes
 * copied. How n is spread over the ranks makes no difference; on a ring it does.
 * Restrictions: none.
 * Messages: at most k - 1 + ceil(log2 p) from each rank, on the private communicator.
 * Scratch: two messages, 2 n/k bytes, and a table of ceil(log2 p) bytes a rank; with a derived
 * receive type n bytes more. */
#include "circulant.h"
#include "gathered.h"
#include "parameters.h"

#include <string.h>

enum { TAG = PL_OWN_TAG };

struct rounds {
    struct pl_circulant graph;
    const struct pl_gathered *parts;
    signed char *receives; /* q numbers for each rank, counted from the root of a part */
    char *out, *in;        /* messages */
};

/* Returns the block of part `root` that rank `to` gets in round i; NULL if it gets none. */
static char *block_of(const struct rounds *me, int i, int root, int to, int *bytes)
{
    const struct pl_circulant *graph = &me->graph;
    const int v = to >= root ? to - root : to - root + graph->p;
    *bytes = 0;
    if (v == 0)
        return NULL;
    const int block =
        pl_circulant_block(graph, i, me->receives[(size_t)v * graph->q + i % graph->q]);
    if (block < 0)
        return NULL;
    const long long all = pl_gathered_bytes(me->parts, root);
    const int first = (int)(all * block / graph->blocks);
    *bytes = (int)(all * (block + 1) / graph->blocks) - first;
    return *bytes > 0 ? (char *)pl_gathered_at(me->parts, root) + first : NULL;
}

/* Copies between the parts and the message that rank `to` gets in round i. Returns the bytes of the
 * message, which may be NULL. */
static int copy(const struct rounds *me, int i, int to, char *message, bool out)
{
    int used = 0, bytes;
    for (int root = 0; root < me->graph.p; root++) {
        char *block = block_of(me, i, root, to, &bytes);
        if (block && out)
            memcpy(message + used, block, (size_t)bytes);
        else if (block && message)
            memcpy(block, message + used, (size_t)bytes);
        used += bytes;
    }
    return used;
}

static int all_rounds(const struct pl_call *call, MPI_Comm peers, int rank, const struct rounds *me)
{
    int rc = MPI_SUCCESS;
    const int p = me->graph.p;
    for (int i = me->graph.first; i < me->graph.end; i++) {
        const int skip = me->graph.skip[i % me->graph.q];
        const int next = rank < p - skip ? rank + skip : rank + skip - p;
        const int previous = rank >= skip ? rank - skip : rank - skip + p;
        const int out = copy(me, i, next, me->out, true), in = copy(me, i, rank, NULL, false);
        PL_TRY(pl_peer_sendrecv(call, me->out, out, MPI_BYTE, out ? next : MPI_PROC_NULL, TAG,
                                me->in, in, MPI_BYTE, in ? previous : MPI_PROC_NULL, TAG, peers));
        copy(me, i, rank, me->in, false);
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    struct pl_gathered parts;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(pl_gathered_begin(call, p, rank, &parts));

    const int n = pl_gathered_span(&parts, p, 0, p), segment = call->values[0];
    const int blocks = n / segment + (n % segment > 0);
    if (p > 1 && n > 0) {
        struct rounds me = {.graph = pl_circulant_of(p, blocks), .parts = &parts};
        const size_t message = (size_t)(n / blocks) + (size_t)p + 1;
        me.out = pl_scratch(call->comm, PL_SLOT_WORK, 2 * message + (size_t)p * me.graph.q);
        PL_NEED(call, me.out);
        me.in = me.out + message;
        me.receives = (signed char *)me.in + message;
        for (int v = 1; v < p; v++)
            pl_circulant_receives(&me.graph, v, me.receives + (size_t)v * me.graph.q);
        PL_TRY(all_rounds(call, peers, rank, &me));
    }
    PL_TRY(pl_gathered_deliver(call, p, &parts));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allgatherv, allgatherv_circulant, run,
            "blocks of all parts on a circulant graph, any counts (Traeff 2022)",
            .scratch_volumes = 3,
            .parameters = {PL_SEGMENT_BYTES(65536, "bytes of a message, about", 1024, 8192, 32768,
                                            65536, 262144)},
            .least_ranks = 4);
