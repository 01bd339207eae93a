/* Bcast of blocks on a circulant graph: in every round each rank sends a block to one neighbour and
 * receives another from the neighbour opposite; after q = ceil(log2 p) rounds every rank gets a
 * block that it has not had, in every round.
 *
 * Source: Traeff, "Fast(er) Construction of Round-optimal n-Block Broadcast Schedules", CLUSTER
 * 2022 (arXiv 2205.10072); see common/circulant.h.
 * Cost: (n/s - 1 + ceil(log2 p)) (a + s b) with segments of s bytes: the fewest rounds that there
 * can be.
 * Restrictions: none; any root, any layout, any number of ranks.
 * Messages: ceil(n/s) to each rank but the root; at most ceil(n/s) - 1 + q from a rank, four
 * of them open at a time.
 * Scratch: n bytes on ranks with a derived type. */
#include "circulant.h"
#include "bcast.h"
#include "parameters.h"

enum { TAG = PL_OWN_TAG, OPEN = PL_BCAST_OPEN };

/* The rounds of a rank, by k = i mod q; the requests of round i use slot i mod 2 OPEN. */
struct rank {
    struct pl_circulant graph;
    int next[PL_ROUNDS_MOST], previous[PL_ROUNDS_MOST], lag[PL_ROUNDS_MOST];
    signed char sends[PL_ROUNDS_MOST], receives[PL_ROUNDS_MOST];
    int received; /* rounds before this one are complete */
    MPI_Request in[2 * OPEN];
};

struct segment {
    char *at;
    int bytes, peer;
};

/* Finds the segment that `to` gets in round i, with `peer` at the other end. Both ends find the
 * same one. The root gets none. */
static struct segment segment_of(const struct pl_bcast *bcast, const struct pl_circulant *graph,
                                 int i, int to, int number, int peer)
{
    const int block = pl_circulant_block(graph, i, number);
    if (to == 0 || block < 0)
        return (struct segment){bcast->bytes, 0, MPI_PROC_NULL};
    const int first = pl_bcast_cut(bcast, graph->blocks, block);
    return (struct segment){bcast->bytes + first,
                            pl_bcast_cut(bcast, graph->blocks, block + 1) - first,
                            pl_to_rank(peer, bcast->root, bcast->p)};
}

/* Fills the schedules: neighbours, numbers of blocks, and how many rounds ago each block that is
 * sent has come. */
static void prepare(struct rank *me, int p, int v)
{
    const struct pl_circulant *graph = &me->graph;
    signed char theirs[PL_ROUNDS_MOST] = {0};
    if (v > 0)
        pl_circulant_receives(graph, v, me->receives);
    for (int k = 0; k < graph->q; k++) {
        const int skip = graph->skip[k];
        me->next[k] = v < p - skip ? v + skip : v + skip - p;
        me->previous[k] = v >= skip ? v - skip : v - skip + p;
        if (me->next[k] > 0)
            pl_circulant_receives(graph, me->next[k], theirs);
        me->sends[k] = theirs[k];
        me->lag[k] = v > 0 ? pl_circulant_lag(graph, me->receives, k, theirs[k]) : graph->end;
    }
}

/* Waits for the receives before round `end`. */
static int wait_for(const struct pl_call *call, struct rank *me, int end)
{
    int rc = MPI_SUCCESS;
    for (; me->received < end; me->received++)
        PL_TRY(pl_peer_wait(call, &me->in[me->received % (2 * OPEN)]));
out:
    return rc;
}

static int receive(const struct pl_call *call, const struct pl_bcast *bcast, struct rank *me, int i)
{
    int rc;
    const int k = i % me->graph.q;
    const struct segment in =
        segment_of(bcast, &me->graph, i, bcast->v, me->receives[k], me->previous[k]);
    PL_TRY(wait_for(call, me, i - 2 * OPEN + 1));
    PL_TRY(pl_peer_irecv(call, in.at, in.bytes, MPI_BYTE, in.peer, TAG, bcast->peers,
                         &me->in[i % (2 * OPEN)]));
out:
    return rc;
}

/* Every rank asks for the blocks of the next OPEN rounds. It waits for a block when it must send it
 * on, and for the message that it sent OPEN rounds ago. A round depends only on earlier rounds, so
 * that ranks cannot wait for each other in a circle. */
static int rounds(const struct pl_call *call, const struct pl_bcast *bcast, int blocks)
{
    int rc = MPI_SUCCESS;
    struct rank me = {.graph = pl_circulant_of(bcast->p, blocks)};
    MPI_Request out[OPEN];
    prepare(&me, bcast->p, bcast->v);
    const int first = me.graph.first, end = me.graph.end;
    for (int slot = 0; slot < OPEN; slot++)
        out[slot] = MPI_REQUEST_NULL;
    me.received = first;
    for (int i = first; i < end && i < first + OPEN; i++)
        PL_TRY(receive(call, bcast, &me, i));
    for (int i = first; i < end; i++) {
        const int k = i % me.graph.q;
        const struct segment leaving =
            segment_of(bcast, &me.graph, i, me.next[k], me.sends[k], me.next[k]);
        if (leaving.peer != MPI_PROC_NULL)
            PL_TRY(wait_for(call, &me, i - me.lag[k] + 1));
        PL_TRY(pl_peer_wait(call, &out[i % OPEN]));
        PL_TRY(pl_peer_isend(call, leaving.at, leaving.bytes, MPI_BYTE, leaving.peer, TAG,
                             bcast->peers, &out[i % OPEN]));
        if (i + OPEN < end)
            PL_TRY(receive(call, bcast, &me, i + OPEN));
    }
    PL_TRY(wait_for(call, &me, end));
    PL_TRY(pl_peer_wait_all(call, OPEN, out));
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc;
    struct pl_bcast bcast;
    const int segment = call->values[0];
    PL_TRY(pl_bcast_begin(call, &bcast));
    if (bcast.n > 0 && bcast.p > 1)
        PL_TRY(rounds(call, &bcast, bcast.n / segment + (bcast.n % segment > 0)));
    PL_TRY(pl_bcast_end(call, &bcast));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_circulant, run,
            "segments on a circulant graph in the fewest rounds (Traeff 2022)",
            .scratch_volumes = 1, .parameters = {PL_BCAST_SEGMENT}, .least_ranks = 4);
