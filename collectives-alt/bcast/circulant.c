/* Bcast of blocks on a circulant graph: in every round each rank sends a block to one neighbour and
 * receives another from the neighbour opposite; after q = ceil(log2 p) rounds every rank gets a
 * block that it has not had, in every round.
 *
 * Source: Traeff, "Fast(er) Construction of Round-optimal n-Block Broadcast Schedules", CLUSTER
 * 2022 (arXiv 2205.10072); see common/circulant.h.
 * Cost: (n/s - 1 + ceil(log2 p)) (a + s b) with segments of s bytes: the fewest rounds that there
 * can be.
 * Restrictions: none; any root, any layout, any number of ranks.
 * Messages: ceil(n/s) to each rank but the root; at most ceil(n/s) - 1 + q from a rank, one at a
 * time.
 * Scratch: n bytes on ranks with a derived type. */
#include "circulant.h"
#include "bcast.h"
#include "parameters.h"

enum { TAG = PL_OWN_TAG };

struct segment {
    char *at;
    int bytes, peer;
};

/* The segment that `to` gets in round i, with `peer` at the other end. Both ends find the same. The
 * root gets none. */
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

static int rounds(const struct pl_call *call, const struct pl_bcast *bcast, int blocks)
{
    int rc = MPI_SUCCESS;
    const int p = bcast->p, v = bcast->v;
    const struct pl_circulant graph = pl_circulant_of(p, blocks);
    signed char receives[PL_ROUNDS_MOST] = {0}, theirs[PL_ROUNDS_MOST] = {0}, sends[PL_ROUNDS_MOST];
    int next[PL_ROUNDS_MOST];
    if (v > 0)
        pl_circulant_receives(&graph, v, receives);
    for (int k = 0; k < graph.q; k++) {
        next[k] = v < p - graph.skip[k] ? v + graph.skip[k] : v + graph.skip[k] - p;
        if (next[k] > 0)
            pl_circulant_receives(&graph, next[k], theirs);
        sends[k] = theirs[k];
    }
    for (int i = graph.first; i < graph.end; i++) {
        const int k = i % graph.q;
        const int previous = v >= graph.skip[k] ? v - graph.skip[k] : v - graph.skip[k] + p;
        const struct segment out = segment_of(bcast, &graph, i, next[k], sends[k], next[k]);
        const struct segment in = segment_of(bcast, &graph, i, v, receives[k], previous);
        PL_TRY(pl_peer_sendrecv(call, out.at, out.bytes, MPI_BYTE, out.peer, TAG, in.at, in.bytes,
                                MPI_BYTE, in.peer, TAG, bcast->peers));
    }
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
            .scratch_volumes = 1, .parameters = {PL_BCAST_SEGMENT});
