/* Reduce-scatter and allgather on a ring. */
#include "reductions.h"

enum { TAG = 2 };

/* A rank of a ring. In step s the block of rank - back - s leaves for the next rank, and the one
 * before that comes in. Its receive is posted one step ahead; empty blocks are not sent. */
struct ring {
    const struct pl_call *call;
    MPI_Comm peers;
    const struct pl_cut *cut;
    int rank, back;
    MPI_Request incoming[2], leaving;
};

static struct pl_range block_of(const struct ring *ring, int step)
{
    const int p = ring->cut->ranges;
    return pl_cut_range(ring->cut, (ring->rank - ring->back - step + 2 * p) % p);
}

static int post(struct ring *ring, int step, void *into)
{
    const int p = ring->cut->ranges, count = block_of(ring, step + 1).count;
    const int from = (ring->rank + p - 1) % p;
    return pl_peer_irecv(ring->call, into, count, ring->call->recvtype,
                         count > 0 ? from : MPI_PROC_NULL, TAG, ring->peers,
                         &ring->incoming[step % 2]);
}

static int send(struct ring *ring, int step, const void *block)
{
    const int p = ring->cut->ranges, count = block_of(ring, step).count;
    return pl_peer_isend(ring->call, block, count, ring->call->recvtype,
                         count > 0 ? (ring->rank + 1) % p : MPI_PROC_NULL, TAG, ring->peers,
                         &ring->leaving);
}

/* Where the sum of a step comes in. One leaves, one is added to, one comes in early. */
struct rooms {
    void *at[3], *last;
    bool direct; /* the last one comes in at `last` */
    int steps;
};

static void *room_of(const struct rooms *rooms, int step)
{
    return rooms->direct && step == rooms->steps - 1 ? rooms->last : rooms->at[step % 3];
}

static int make_rooms(const struct pl_call *call, const struct pl_cut *cut, struct rooms *rooms)
{
    static const int slots[3] = {PL_SLOT_SEND, PL_SLOT_RECV, PL_SLOT_WORK};
    int rc = MPI_SUCCESS, most = 0;
    for (int i = 0; i < cut->ranges; i++)
        most = pl_cut_range(cut, i).count > most ? pl_cut_range(cut, i).count : most;
    for (int i = 0; i < 3 && i < rooms->steps; i++) {
        rooms->at[i] = pl_scratch_elements(call->comm, slots[i], most, call->recvtype);
        PL_NEED(call, rooms->at[i]);
    }
out:
    return rc;
}

/* After step s rank r holds the sum of s + 2 contributions to range r - s - 2 (mod p); what it
 * received moves on in the next step. */
int pl_ring(const struct pl_call *call, MPI_Comm peers, const struct pl_cut *cut, int rank,
            bool direct, void **own)
{
    int rc;
    const MPI_Datatype type = call->recvtype;
    const void *operands = pl_operand(call);
    struct ring ring = {.call = call, .peers = peers, .cut = cut, .rank = rank, .back = 1};
    struct rooms rooms = {.last = *own, .direct = direct, .steps = cut->ranges - 1};
    PL_TRY(make_rooms(call, cut, &rooms));

    const void *leaving = pl_at(operands, block_of(&ring, 0).first, type);
    PL_TRY(post(&ring, 0, room_of(&rooms, 0)));
    for (int step = 0; step < rooms.steps; step++) {
        const struct pl_range range = block_of(&ring, step + 1);
        void *sum = room_of(&rooms, step);
        if (step + 1 < rooms.steps)
            PL_TRY(post(&ring, step + 1, room_of(&rooms, step + 1)));
        PL_TRY(send(&ring, step, leaving));
        PL_TRY(pl_peer_wait(call, &ring.incoming[step % 2]));
        PL_TRY(pl_combine(call, pl_at(operands, range.first, type), sum, range.count));
        PL_TRY(pl_peer_wait(call, &ring.leaving));
        *own = sum;
        leaving = sum;
    }
out:
    return rc;
}

int pl_ring_allgather(const struct pl_call *call, MPI_Comm peers, const struct pl_cut *cut,
                      int rank)
{
    int rc;
    const int steps = cut->ranges - 1;
    struct ring ring = {.call = call, .peers = peers, .cut = cut, .rank = rank};
    PL_TRY(post(&ring, 0, pl_at(call->recvbuf, block_of(&ring, 1).first, call->recvtype)));
    for (int step = 0; step < steps; step++) {
        const int leaving = block_of(&ring, step).first, early = block_of(&ring, step + 2).first;
        if (step + 1 < steps)
            PL_TRY(post(&ring, step + 1, pl_at(call->recvbuf, early, call->recvtype)));
        PL_TRY(send(&ring, step, pl_at(call->recvbuf, leaving, call->recvtype)));
        PL_TRY(pl_peer_wait(call, &ring.incoming[step % 2]));
        PL_TRY(pl_peer_wait(call, &ring.leaving));
    }
out:
    return rc;
}

int pl_reduce_scatter_by_ring(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    struct pl_cut cut;
    void *own = call->recvbuf;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_cut_of(call, p, &cut));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &peers));
    const bool direct = call->sendbuf != MPI_IN_PLACE;
    PL_TRY(pl_ring(call, peers, &cut, rank, direct, &own));
    if (!direct)
        PL_TRY(pl_copy(own, call->recvbuf, pl_cut_range(&cut, rank).count, call->recvtype,
                       call->comm));
out:
    return rc;
}
