/* Alltoallv by store and forward in base `radix`: short blocks travel by the digits of their
 * distance, many in one message behind a table of their lengths; blocks of more than `block_bytes`
 * go directly.
 *
 * Source: Fan, Domke, Ba, Kumar, "Configurable non-uniform all-to-all algorithms" (TuNA), HPDC 2025
 * (arXiv 2411.02581), which sends the lengths first. Here a length has a bound, so that lengths and
 * blocks are one message. Direct long blocks are ours: sender and receiver both know them, and
 * without them no rank could say what it stores for others.
 * Cost: with short blocks (r-1) ceil(log_r p) a + (r-1)/r ceil(log_r p) (m + 4 p) b, for at most m
 * bytes that a rank sends or passes on; a + l b more for each block of l bytes that goes directly.
 * Restrictions: none. With MPI_IN_PLACE short blocks are copied first, and two ranks swap long ones
 * by MPI_Sendrecv_replace, since what they send each other is equally long.
 * Messages: (r-1) ceil(log_r p) from each rank at most, r - 1 at once, and those of long blocks; on
 * the private communicator.
 * Scratch: 3 `block_bytes` a rank, and some words.
 *
 * Block i is the one that has i ranks to go in all, wherever it is. It arrives with its highest
 * digit, and until then it has a place of its own on the ranks in between. */
#include "everyone.h"
#include "parameters.h"

enum { TAG = PL_OWN_TAG, TAG_LONG, BLOCK_MOST = 4096 };

struct travel {
    MPI_Comm peers;
    int p, rank, radix;
    size_t most; /* bytes of a short block */
    bool in_place;
    int *stored;           /* lengths of the blocks in store */
    char *store;           /* a place of `most` bytes for each block */
    char *out, *in;        /* the messages of a round, one after another */
    MPI_Request *requests; /* of long blocks, then of a round */
    int open;
};

static size_t bytes_of(const struct pl_block *block)
{
    return (size_t)block->count * (size_t)pl_size_of(block->type);
}

static int target_of(const struct travel *travel, int distance)
{
    return (int)(((long long)travel->rank + distance) % travel->p);
}

static int source_of(const struct travel *travel, int distance)
{
    return target_of(travel, travel->p - distance);
}

static int prepare(const struct pl_call *call, struct travel *travel)
{
    int rc;
    PL_TRY(pl_ranks(call, &travel->p, &travel->rank));
    PL_TRY(pl_private(call->comm, &travel->peers));
    const int p = travel->p, radix = call->values[0];
    travel->radix = radix < p || p < 2 ? radix : p;
    travel->most = (size_t)call->values[1];
    travel->in_place = call->sendbuf == MPI_IN_PLACE;
    travel->open = 0;
    const size_t store = (size_t)p * travel->most, round = store + (size_t)p * sizeof(int);
    travel->stored = pl_scratch(call->comm, PL_SLOT_AUX, (size_t)p * sizeof(int));
    travel->store = pl_scratch(call->comm, PL_SLOT_WORK, store);
    travel->out = pl_scratch(call->comm, PL_SLOT_SEND, round);
    travel->in = pl_scratch(call->comm, PL_SLOT_RECV, round);
    travel->requests = pl_requests(call->comm, 4 * p);
    PL_NEED(call, travel->stored && travel->store && travel->out && travel->in && travel->requests);
out:
    return rc;
}

/* --- long blocks --- */

static int open_long(const struct pl_call *call, struct travel *travel)
{
    int rc = MPI_SUCCESS;
    for (int i = 1; i < travel->p; i++) {
        const int from = source_of(travel, i), to = target_of(travel, i);
        const struct pl_block in = pl_from(call, from), out = pl_to(call, to);
        if (bytes_of(&in) > travel->most)
            PL_TRY(pl_peer_irecv(call, (void *)in.buf, in.count, in.type, from, TAG_LONG,
                                 travel->peers, &travel->requests[travel->open++]));
        if (bytes_of(&out) > travel->most)
            PL_TRY(pl_peer_isend(call, out.buf, out.count, out.type, to, TAG_LONG, travel->peers,
                                 &travel->requests[travel->open++]));
    }
out:
    return rc;
}

/* In step s the ranks whose numbers sum to s (mod p) swap. */
static int swap_long(const struct pl_call *call, const struct travel *travel)
{
    int rc = MPI_SUCCESS;
    for (int step = 0; step < travel->p; step++) {
        const int other = (step + travel->p - travel->rank) % travel->p;
        const struct pl_block in = pl_from(call, other);
        if (other != travel->rank && bytes_of(&in) > travel->most)
            PL_TRY(pl_raise(call->comm, PL_MPI(Sendrecv_replace)(
                                            (void *)in.buf, in.count, in.type, other, TAG_LONG,
                                            other, TAG_LONG, travel->peers, MPI_STATUS_IGNORE)));
    }
out:
    return rc;
}

/* --- short blocks --- */

/* The bytes of a block that starts here; none of a long one. */
static int pack_own(const struct pl_call *call, const struct travel *travel, int i, char *to,
                    int *bytes)
{
    const int target = target_of(travel, i);
    const struct pl_block block = travel->in_place ? pl_from(call, target) : pl_to(call, target);
    *bytes = bytes_of(&block) <= travel->most ? (int)bytes_of(&block) : 0;
    return pl_pack(block.buf, block.count, block.type, to, *bytes, call->comm);
}

static char *place_of(const struct travel *travel, int i)
{
    return travel->store + (size_t)i * travel->most;
}

/* The next block after i whose digit at `power` is `digit`; p after the last one. */
static int next_block(const struct travel *travel, int i, long long power, int digit)
{
    do
        i++;
    while (i < travel->p && i / power % travel->radix != digit);
    return i;
}

/* Writes a message; its blocks are `count`, its length is returned. */
static int fill(const struct pl_call *call, const struct travel *travel, long long power, int digit,
                int *count, char *message, int *length)
{
    int rc = MPI_SUCCESS, bytes, n = 0;
    for (int i = next_block(travel, -1, power, digit); i < travel->p;
         i = next_block(travel, i, power, digit))
        n++;
    char *at = message + (size_t)n * sizeof bytes, *head = message;
    for (int i = next_block(travel, -1, power, digit); i < travel->p;
         i = next_block(travel, i, power, digit)) {
        if (i % power == 0 && !travel->in_place) {
            PL_TRY(pack_own(call, travel, i, at, &bytes));
        } else {
            bytes = travel->stored[i];
            memcpy(at, place_of(travel, i), (size_t)bytes);
        }
        memcpy(head, &bytes, sizeof bytes);
        head += sizeof bytes;
        at += bytes;
    }
    *count = n;
    *length = (int)(at - message);
out:
    return rc;
}

/* Reads a message: blocks that have arrived into their places, others into store. */
static int empty(const struct pl_call *call, const struct travel *travel, long long power,
                 int digit, int count, const char *message)
{
    int rc = MPI_SUCCESS, bytes;
    const char *head = message, *at = message + (size_t)count * sizeof bytes;
    for (int i = next_block(travel, -1, power, digit); i < travel->p;
         i = next_block(travel, i, power, digit)) {
        memcpy(&bytes, head, sizeof bytes);
        head += sizeof bytes;
        if (i / power < travel->radix) {
            const struct pl_block block = pl_from(call, source_of(travel, i));
            PL_TRY(pl_unpack(at, bytes, (void *)block.buf, block.count, block.type, call->comm));
        } else {
            travel->stored[i] = bytes;
            memcpy(place_of(travel, i), at, (size_t)bytes);
        }
        at += bytes;
    }
out:
    return rc;
}

static int round_of(const struct pl_call *call, const struct travel *travel, long long power)
{
    int rc = MPI_SUCCESS, open = 0, count, length;
    MPI_Request *requests = travel->requests + 2 * travel->p;
    char *out = travel->out, *in = travel->in;
    for (int digit = 1; digit < travel->radix && digit * power < travel->p; digit++) {
        const int distance = (int)(digit * power);
        PL_TRY(fill(call, travel, power, digit, &count, out, &length));
        const size_t room = (size_t)count * (sizeof(int) + travel->most);
        PL_TRY(pl_peer_irecv(call, in, (int)room, MPI_BYTE, source_of(travel, distance), TAG,
                             travel->peers, &requests[open++]));
        PL_TRY(pl_peer_isend(call, out, length, MPI_BYTE, target_of(travel, distance), TAG,
                             travel->peers, &requests[open++]));
        out += length;
        in += room;
    }
    PL_TRY(pl_peer_wait_all(call, open, requests));
    in = travel->in;
    for (int digit = 1; digit < travel->radix && digit * power < travel->p; digit++) {
        count = 0;
        for (int i = next_block(travel, -1, power, digit); i < travel->p;
             i = next_block(travel, i, power, digit))
            count++;
        PL_TRY(empty(call, travel, power, digit, count, in));
        in += (size_t)count * (sizeof(int) + travel->most);
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc;
    struct travel travel;
    PL_TRY(prepare(call, &travel));
    if (travel.in_place) {
        for (int i = 1; i < travel.p; i++)
            PL_TRY(pack_own(call, &travel, i, place_of(&travel, i), &travel.stored[i]));
        PL_TRY(swap_long(call, &travel));
    } else {
        PL_TRY(open_long(call, &travel));
        PL_TRY(pl_keep_own(call, travel.peers, travel.rank));
    }
    for (long long power = 1; power < travel.p; power *= travel.radix)
        PL_TRY(round_of(call, &travel, power));
    PL_TRY(pl_peer_wait_all(call, travel.open, travel.requests));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, alltoallv, alltoallv_tuna, run,
            "short blocks travel by the digits of their distance (TuNA, Fan et al. 2025)",
            .scratch_rank_bytes = 3 * BLOCK_MOST,
            .parameters = {PL_RADIX(2, "base of the digits", 2, 4, 8, 16, 32),
                           {.name = "block_bytes",
                            .least = 1,
                            .most = BLOCK_MOST,
                            .standard = 1024,
                            .tries = {256, 1024, 4096},
                            .summary = "bytes of a block that other ranks pass on"}});
