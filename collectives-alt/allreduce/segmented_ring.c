/* Allreduce on a ring whose blocks travel in segments: while a segment is added, the next one is
 * on its way.
 *
 * Source: the segmented ring of Open MPI; Patarasuk, Yuan, JPDC 69(2), 2009 for the ring.
 * Cost for m segments a block: (p-1) (m + 1) a + 2 (p-1)/p n b, of which the (p-1)/p n g hide
 * all but 1/m.
 * Restrictions: MPI's own operations, since the vector is cut; they commute, as block i asks, which
 * is reduced in the order i + 1, …, i.
 * Parameter: segment_bytes.
 * Messages: (p-1) (m + 1) to the next rank, on the private communicator.
 * Scratch: three blocks, of which one comes in, one leaves, and one comes in early; fewer if there
 * are fewer steps. */
#include "parameters.h"
#include "reductions.h"

enum { TAG = PL_OWN_TAG };

struct ring {
    const struct pl_call *call;
    MPI_Comm peers;
    int p, rank;
    struct pl_cut blocks;
    int most, segment, segments; /* elements of a block and of a segment; segments of a block */
    int kept;                    /* blocks there is room for */
    void *rooms;                 /* of these blocks, which the steps take in turn */
};

/* Message t carries segment t % segments in step t / segments. In step s the block of rank - s - 1
 * leaves, and that of rank - s - 2 comes in. */
static struct pl_range segment_of(const struct ring *ring, long long t, int back)
{
    const int step = (int)(t / ring->segments), i = (int)(t % ring->segments);
    const int block = (ring->rank - step - back + 2 * ring->p) % ring->p;
    struct pl_range range = pl_cut_range(&ring->blocks, block);
    const int skip = range.count < i * ring->segment ? range.count : i * ring->segment;
    range.first += skip;
    range.count -= skip;
    if (range.count > ring->segment)
        range.count = ring->segment;
    return range;
}

/* Where segment t is kept after it has come in. */
static void *room_of(const struct ring *ring, long long t)
{
    const long long step = t / ring->segments, i = t % ring->segments;
    return pl_at(ring->rooms, step % ring->kept * ring->most + i * ring->segment,
                 ring->call->recvtype);
}

static int post(const struct ring *ring, long long t, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    if (t >= (long long)(ring->p - 1) * ring->segments)
        return MPI_SUCCESS;
    const int count = segment_of(ring, t, 2).count;
    const int from = (ring->rank + ring->p - 1) % ring->p;
    return pl_raise(ring->call->comm,
                    PL_MPI(Irecv)(room_of(ring, t), count, ring->call->recvtype,
                                  count ? from : MPI_PROC_NULL, TAG, ring->peers, request));
}

static int send(const struct ring *ring, long long t, MPI_Request *request)
{
    const struct pl_call *call = ring->call;
    const struct pl_range range = segment_of(ring, t, 1);
    const void *segment = t < ring->segments ? pl_at(pl_operand(call), range.first, call->recvtype)
                                             : room_of(ring, t - ring->segments);
    return pl_peer_isend(call, segment, range.count, call->recvtype,
                         range.count ? (ring->rank + 1) % ring->p : MPI_PROC_NULL, TAG, ring->peers,
                         request);
}

/* Afterwards the room of the last step holds the own block. */
static int reduce_scatter(const struct ring *ring)
{
    int rc;
    const struct pl_call *call = ring->call;
    const long long messages = (long long)(ring->p - 1) * ring->segments;
    MPI_Request incoming[2], leaving;
    PL_TRY(post(ring, 0, &incoming[0]));
    for (long long t = 0; t < messages; t++) {
        const struct pl_range range = segment_of(ring, t, 2);
        PL_TRY(post(ring, t + 1, &incoming[(t + 1) % 2]));
        PL_TRY(send(ring, t, &leaving));
        PL_TRY(pl_peer_wait(call, &incoming[t % 2]));
        PL_TRY(pl_combine(call, pl_at(pl_operand(call), range.first, call->recvtype),
                          room_of(ring, t), range.count));
        PL_TRY(pl_peer_wait(call, &leaving));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc;
    struct ring ring = {.call = call};
    PL_TRY(pl_ranks(call, &ring.p, &ring.rank));
    if (ring.p == 1 || call->recvcount == 0)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &ring.peers));
    ring.blocks = (struct pl_cut){.n = call->recvcount, .ranges = ring.p};
    ring.most = pl_cut_range(&ring.blocks, 0).count;
    ring.segment = pl_segment(call, call->values[0], ring.most);
    ring.segments = ring.most / ring.segment + (ring.most % ring.segment > 0);
    ring.kept = ring.p - 1 < 3 ? ring.p - 1 : 3;
    ring.rooms =
        pl_scratch_elements(call->comm, PL_SLOT_RECV, ring.kept * ring.most, call->recvtype);
    PL_NEED(call, ring.rooms);
    PL_TRY(reduce_scatter(&ring));

    const struct pl_range own = pl_cut_range(&ring.blocks, ring.rank);
    const void *block = room_of(&ring, (long long)(ring.p - 2) * ring.segments);
    PL_TRY(pl_copy(block, pl_at(call->recvbuf, own.first, call->recvtype), own.count,
                   call->recvtype, call->comm));
    PL_TRY(pl_ring_allgather(call, ring.peers, &ring.blocks, ring.rank));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allreduce, allreduce_segmented_ring, run,
            "a ring whose blocks travel in segments (Open MPI)", .restrictions = PL_BUILTIN_OP,
            .scratch_volumes = 2,
            .parameters = {PL_SEGMENT_BYTES(65536, "bytes that one message carries", 4096, 16384,
                                            65536, 262144, 1048576)});
