/* Reduce_scatter and Reduce_scatter_block on two chains: operands of the ranks below a block's own
 * come up to it, those of the ranks above come down. */
#include "reductions.h"

#include <limits.h>

enum { TAG_UP = 5, TAG_DOWN = 6 };

/* Place i of the chain up is rank i, of the chain down rank p - 1 - i. The block of place p - 1
 * leaves first, so that it passes all places; message k carries that of place p - 1 - k. In step t
 * message t - place leaves a place and the next one comes in, so all ends in step p - 2. */
struct chain {
    const struct pl_call *call;
    MPI_Comm peers;
    const struct pl_cut *cut;
    int p, place;
    bool up;
    bool sums;   /* what comes in is in front of the own operands: they are copied to a room */
    void *rooms; /* three blocks */
    int most;    /* elements of a block */
    const void *value;
    MPI_Request incoming[2], leaving;
};

static int rank_of(const struct chain *chain, int place)
{
    return chain->up ? place : chain->p - 1 - place;
}

static struct pl_range block_of(const struct chain *chain, int k)
{
    return pl_cut_range(chain->cut, rank_of(chain, chain->p - 1 - k));
}

static void *room_of(const struct chain *chain, int room)
{
    return pl_at(chain->rooms, (long long)room * chain->most, chain->call->recvtype);
}

static void *place_of(const struct chain *chain, int k)
{
    return room_of(chain, k % (chain->sums ? 2 : 3));
}

/* The last message that comes in is the own block. */
static int last_of(const struct chain *chain)
{
    return chain->place > 0 ? chain->p - 1 - chain->place : -1;
}

static int post(struct chain *chain, int k)
{
    const struct pl_call *call = chain->call;
    if (k < 0 || k > last_of(chain))
        return MPI_SUCCESS;
    const int count = block_of(chain, k).count;
    return pl_peer_irecv(call, place_of(chain, k), count, call->recvtype,
                         count > 0 ? rank_of(chain, chain->place - 1) : MPI_PROC_NULL,
                         chain->up ? TAG_UP : TAG_DOWN, chain->peers, &chain->incoming[k % 2]);
}

static int send(struct chain *chain, int k)
{
    const struct pl_call *call = chain->call;
    const MPI_Datatype type = call->recvtype;
    chain->leaving = MPI_REQUEST_NULL;
    if (k < 0 || k > chain->p - 2 - chain->place)
        return MPI_SUCCESS;
    const struct pl_range block = block_of(chain, k);
    return pl_peer_isend(
        call, chain->place > 0 ? chain->value : pl_at(pl_operand(call), block.first, type),
        block.count, type, block.count > 0 ? rank_of(chain, chain->place + 1) : MPI_PROC_NULL,
        chain->up ? TAG_UP : TAG_DOWN, chain->peers, &chain->leaving);
}

/* The value becomes message k with the own operands. */
static int add_own(struct chain *chain, int k)
{
    int rc;
    const struct pl_call *call = chain->call;
    const struct pl_range block = block_of(chain, k);
    const void *own = pl_at(pl_operand(call), block.first, call->recvtype);
    void *incoming = place_of(chain, k), *sum = room_of(chain, 2);
    if (chain->sums) {
        PL_TRY(pl_peer_wait(call, &chain->leaving)); /* of the last sum */
        PL_TRY(pl_copy(own, sum, block.count, call->recvtype, call->comm));
        PL_TRY(pl_combine(call, incoming, sum, block.count));
    } else {
        PL_TRY(pl_combine(call, own, incoming, block.count));
    }
    chain->value = chain->sums ? sum : incoming;
out:
    return rc;
}

static int receive(struct chain *chain, int k)
{
    int rc = MPI_SUCCESS;
    if (k < 0 || k > last_of(chain))
        return MPI_SUCCESS;
    PL_TRY(pl_peer_wait(chain->call, &chain->incoming[k % 2]));
    if (k < last_of(chain))
        PL_TRY(add_own(chain, k));
out:
    return rc;
}

static int run(struct chain chains[2], int steps)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < 2; i++)
        PL_TRY(post(&chains[i], 0));
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < 2; i++) {
            const int arriving = step + 1 - chains[i].place;
            if (arriving >= 0)
                PL_TRY(post(&chains[i], arriving + 1));
            PL_TRY(send(&chains[i], arriving - 1));
        }
        for (int i = 0; i < 2; i++)
            PL_TRY(receive(&chains[i], step + 1 - chains[i].place));
        for (int i = 0; i < 2; i++)
            PL_TRY(pl_peer_wait(chains[i].call, &chains[i].leaving));
    }
out:
    return rc;
}

/* Below, own operands, above. */
static int finish(struct chain *up, struct chain *down)
{
    int rc;
    const struct pl_call *call = up->call;
    const struct pl_range own = pl_cut_range(up->cut, up->place);
    struct chain *last = down->place > 0 ? down : up;
    PL_TRY(add_own(last, last_of(last)));
    if (last == down && up->place > 0)
        PL_TRY(pl_combine(call, place_of(up, last_of(up)), (void *)down->value, own.count));
    PL_TRY(pl_copy(last->value, call->recvbuf, own.count, call->recvtype, call->comm));
out:
    return rc;
}

int pl_reduce_scatter_by_chains(const struct pl_call *call)
{
    int rc, p, rank, commutes;
    struct pl_cut cut;
    struct chain chain = {.call = call, .cut = &cut};
    PL_TRY(pl_ranks(call, &p, &rank));
    if (p == 1)
        return pl_alone(call);
    PL_TRY(pl_private(call->comm, &chain.peers));
    PL_TRY(PMPI_Op_commutative(call->op, &commutes));
    PL_TRY(pl_cut_of(call, p, &cut));
    for (int i = 0; i < p; i++)
        chain.most =
            pl_cut_range(&cut, i).count > chain.most ? pl_cut_range(&cut, i).count : chain.most;
    if (chain.most > INT_MAX / 3)
        return pl_reduce_scatter_by_pairs(call);

    chain.p = p;
    struct chain chains[2] = {chain, chain};
    chains[0].up = true;
    chains[0].sums = !commutes;
    for (int i = 0; i < 2; i++) {
        chains[i].place = i == 0 ? rank : p - 1 - rank;
        chains[i].rooms = pl_scratch_elements(call->comm, i == 0 ? PL_SLOT_SEND : PL_SLOT_RECV,
                                              3 * chain.most, call->recvtype);
        PL_NEED(call, chains[i].rooms);
    }
    PL_TRY(run(chains, p - 1));
    PL_TRY(finish(&chains[0], &chains[1]));
out:
    return rc;
}
