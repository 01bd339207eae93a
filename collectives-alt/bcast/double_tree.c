/* Bcast on two binary trees at once, pipelined: segments go down the one and the other in turn. Who
 * passes on segments in one tree is a leaf of the other, so every rank sends about as much as it
 * receives.
 *
 * Source: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan", Parallel Computing 35(12), 2009.
 * Cost: about (n/s + 2 log2 p) (a + s b) with segments of s bytes, half of what one binary tree
 * takes for large n.
 * Restrictions: none; any root, any layout.
 * Messages: at most ceil(n/s) + 1 from a rank, four of them open at a time with each neighbour.
 * Scratch: n bytes on ranks with a derived type.
 *
 * The first tree has the ranks 1 .. m, m = p - 1, counted from the root, in order: v has the height
 * of its lowest bit, so that odd ones are leaves. In the second tree v is at m + 1 - v if m is
 * even, else at v - 1 (and 1 at m), which makes even ones leaves: all but one, if m is odd. The
 * root sends to the tops of both. */
#include "bcast.h"
#include "parameters.h"

/* Requests of a tree: one with the parent and two with children for each open segment. */
enum { TAG = PL_OWN_TAG, OPEN = PL_BCAST_OPEN, SLOTS = 3 * OPEN };

/* Returns the top of a tree of the places `from` + 1 to `to`; 0 if there are none. */
static int top_of(int from, int to)
{
    int power = 1;
    if (to <= from)
        return 0;
    while (power <= (to - from) / 2)
        power *= 2;
    return from + power;
}

/* Finds the neighbours of place x in the tree of places 1 .. m: the parent, then two children. The
 * parent of the top is 0, the root of all; a child 0 does not exist. */
static void neighbours(int x, int m, int *at)
{
    int from = 0, to = m, top = top_of(0, m);
    at[0] = 0;
    while (x != top && x > 0) {
        at[0] = top;
        if (x < top)
            to = top - 1;
        else
            from = top;
        top = top_of(from, to);
    }
    at[1] = x > 0 ? top_of(from, x - 1) : top;
    at[2] = x > 0 ? top_of(x, to) : 0;
}

/* Returns the place of v in the second tree, in which 0 keeps its place. */
static int place_of(int v, int m)
{
    if (v == 0)
        return 0;
    return m % 2 == 0 ? m + 1 - v : v > 1 ? v - 1 : m;
}

/* Returns the rank, counted from the root, at a place of the second tree. */
static int rank_of(int place, int m)
{
    if (place == 0)
        return 0;
    return m % 2 == 0 ? m + 1 - place : place < m ? place + 1 : 1;
}

/* The messages of a rank in one tree, which carries every second segment. `posted` segments have
 * been asked for, and `passed` have been sent on. Segment i of the tree uses slot i mod OPEN. */
struct stream {
    int parent, children;
    int first, segments, posted, passed, child[2];
    bool arrived[OPEN];
    int leaving[OPEN];             /* sends that are open */
    MPI_Request *incoming, *sends; /* by slot; by slot and child */
};

static char *segment_at(const struct pl_bcast *bcast, const struct stream *stream, int i, int size,
                        int *bytes)
{
    const int start = (stream->first + 2 * i) * size;
    *bytes = size < bcast->n - start ? size : bcast->n - start;
    return bcast->bytes + start;
}

/* Passes on the segments that have arrived, in order, and asks for as many. Waits for nothing: in
 * two trees, ranks that wait for each other's sends could form a circle. */
static int advance(const struct pl_call *call, const struct pl_bcast *bcast, struct stream *stream,
                   int size)
{
    int rc = MPI_SUCCESS, bytes;
    for (;;) {
        const int slot = stream->passed % OPEN;
        if (stream->posted < stream->segments && stream->posted < stream->passed + OPEN) {
            const int next = stream->posted++ % OPEN;
            char *at = segment_at(bcast, stream, stream->posted - 1, size, &bytes);
            stream->arrived[next] = bcast->v == 0;
            if (bcast->v > 0)
                PL_TRY(pl_peer_irecv(call, at, bytes, MPI_BYTE, stream->parent, TAG + stream->first,
                                     bcast->peers, &stream->incoming[next]));
        } else if (stream->arrived[slot] && stream->leaving[slot] == 0) {
            char *at = segment_at(bcast, stream, stream->passed++, size, &bytes);
            stream->arrived[slot] = false;
            for (int i = 0; i < stream->children; i++, stream->leaving[slot]++)
                PL_TRY(pl_peer_isend(call, at, bytes, MPI_BYTE, stream->child[i],
                                     TAG + stream->first, bcast->peers,
                                     &stream->sends[2 * slot + i]));
        } else {
            break;
        }
    }
out:
    return rc;
}

/* Advances both trees, each at its own pace, until no message is open. */
static int pass(const struct pl_call *call, const struct pl_bcast *bcast, struct stream *streams,
                int size)
{
    int rc = MPI_SUCCESS, done = 0;
    MPI_Request requests[2 * SLOTS];
    for (int i = 0; i < 2 * SLOTS; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int tree = 0; tree < 2; tree++) {
        streams[tree].incoming = requests + tree * SLOTS;
        streams[tree].sends = streams[tree].incoming + OPEN;
        PL_TRY(advance(call, bcast, &streams[tree], size));
    }
    for (;;) {
        PL_TRY(
            pl_raise(call->comm, PL_MPI(Waitany)(2 * SLOTS, requests, &done, MPI_STATUS_IGNORE)));
        if (done == MPI_UNDEFINED)
            break;
        struct stream *stream = &streams[done / SLOTS];
        if (done % SLOTS < OPEN)
            stream->arrived[done % SLOTS] = true;
        else
            stream->leaving[(done % SLOTS - OPEN) / 2]--;
        PL_TRY(advance(call, bcast, stream, size));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, at[3];
    struct pl_bcast bcast;
    struct stream streams[2] = {{.first = 0}, {.first = 1}};
    PL_TRY(pl_bcast_begin(call, &bcast));
    const int m = bcast.p - 1, v = bcast.v;
    const int size = call->values[0] < bcast.n ? call->values[0] : bcast.n;
    const int segments = bcast.n == 0 ? 0 : bcast.n / size + (bcast.n % size > 0);
    for (int tree = 0; tree < 2 && m > 0; tree++) {
        struct stream *stream = &streams[tree];
        stream->segments = tree ? segments / 2 : segments - segments / 2;
        neighbours(tree ? place_of(v, m) : v, m, at);
        for (int i = 0; i < 3; i++) {
            const int rank = pl_to_rank(tree ? rank_of(at[i], m) : at[i], bcast.root, bcast.p);
            if (i == 0)
                stream->parent = rank;
            if (i > 0 && at[i] > 0)
                stream->child[stream->children++] = rank;
        }
    }
    PL_TRY(pass(call, &bcast, streams, size));
    PL_TRY(pl_bcast_end(call, &bcast));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_double_tree, run,
            "two binary trees, each with half of the segments (Sanders et al. 2009)",
            .scratch_volumes = 1, .parameters = {PL_BCAST_SEGMENT}, .least_ranks = 4);
