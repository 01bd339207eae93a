/* Allgather on parallel aggregated trees: the largest distance comes first, so that few blocks
 * travel far, and no message has more than A blocks, A the largest power of two up to `blocks`.
 * With room for all of them it is allgather_sparbit; A = 1 is p - 1 messages of one block.
 *
 * Source: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale",
 * 2025 (arXiv 2506.20252).
 * Cost with P the power of two from p on: (log2 A + P/A - 1) a + (p-1)/p n b, and 2 (p-1)/p n bytes
 * copied unless A = 1.
 * Restrictions: none.
 * Messages: one a round to a rank and from another, on the private communicator.
 * Scratch: two messages of at most p/2 blocks; with a derived receive type n bytes more.
 *
 * Offset o is the block of the rank o before: rank r has it when r - o's block has come. It comes
 * from the rank d before, d the lowest bit of o, which has it as offset o - d. The first rounds
 * bring the offsets that are multiples of s = P/A, as Bruck's do with distances in descending
 * order. They are the roots of A trees. Then all trees grow alike, depth first and the farthest
 * child first, and each round brings the offsets o, o + s, o + 2 s, … for one o below s. */
#include "gathered.h"
#include "parameters.h"

/* Brings the offsets first, first + stride, … below p, from the rank `distance` before. */
static int bring(const struct pl_call *call, const struct pl_block_rounds *exchange, int distance,
                 int first, int stride)
{
    const int p = exchange->p, rank = exchange->rank;
    int blocks = 0;
    for (int offset = first; offset < p; offset += stride) {
        const int out = offset - distance;
        exchange->in[blocks] = rank >= offset ? rank - offset : rank - offset + p;
        exchange->out[blocks++] = rank >= out ? rank - out : rank - out + p;
        if (offset > p - stride)
            break;
    }
    if (blocks == 0)
        return MPI_SUCCESS;
    const int to = rank < p - distance ? rank + distance : rank + distance - p;
    const int from = rank >= distance ? rank - distance : rank - distance + p;
    return pl_exchange(call, exchange, to, blocks, from, blocks);
}

/* Grows the trees below `offset`, whose children are `distance`, half of that, … away. */
static int grow(const struct pl_call *call, const struct pl_block_rounds *exchange, int offset,
                int distance, int stride)
{
    int rc = MPI_SUCCESS;
    for (; distance > 0; distance /= 2) {
        PL_TRY(bring(call, exchange, distance, offset + distance, stride));
        PL_TRY(grow(call, exchange, offset + distance, distance / 2, stride));
    }
out:
    return rc;
}

int pl_allgather_far_first(const struct pl_call *call)
{
    int rc, p, rank, half = 1;
    struct pl_gathered parts;
    struct pl_block_rounds exchange;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_exchange_begin(call, p, rank, p / 2, &parts, &exchange));
    while (half < p - half)
        half *= 2;
    int distance = half; /* P/2; a round brings P/2 / distance blocks */
    for (; distance > 0 && half / distance <= call->values[0] / 2; distance /= 2)
        PL_TRY(bring(call, &exchange, distance, distance, 2 * distance));
    PL_TRY(grow(call, &exchange, 0, distance, 2 * distance));
    PL_TRY(pl_gathered_deliver(call, p, &parts));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_pat, pl_allgather_far_first,
            "trees in parallel, the far ranks first, few blocks a message (PAT, Jeaugey 2025)",
            .scratch_volumes = 2, .parameters = {PL_TREE_BLOCKS}, .least_ranks = 4);
