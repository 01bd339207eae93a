/* Allgather on a Bine butterfly: in every round pairs of ranks, an even and an odd one, exchange
 * all they have. The largest distance, about a third of the ranks, comes first, while they have
 * little.
 *
 * Source: De Sensi et al., SC 2025; see common/bine.h.
 * Cost: ceil(log2 p) a + (p-1)/p n b, and 2 (p-1)/p n bytes copied. Odd p: two messages more, of
 * which the last one brings n bytes to the last rank.
 * Restrictions: none.
 * Messages: ceil(log2 p) from each rank, to its partners, on the private communicator.
 * Scratch: two messages of at most p/2 + 1 blocks; with a derived receive type n bytes more.
 *
 * Places are the ranks, an even number q of them: with odd p the last rank stands aside, and its
 * block is beside that of the last place. A rank's offsets are counted forwards if it is even, else
 * backwards, and then all ranks have the same ones: 0 at first, and d - o for each offset o that
 * they had before the round at distance d. Where q is no power of two they meet some again, which
 * are not sent. */
#include "bine.h"
#include "gathered.h"

enum { TAG_FOLD = PL_OWN_TAG };

/* Adds the block of a place to a list, with the block of the rank that stands aside if it is there.
 */
static int enter(int place, int q, int p, int *list, int blocks)
{
    list[blocks++] = place;
    if (place == q - 1 && q < p)
        list[blocks++] = q;
    return blocks;
}

static int rounds(const struct pl_call *call, const struct pl_block_rounds *exchange, int q)
{
    int rc = MPI_SUCCESS, levels = 0, known = 1;
    const int p = exchange->p, rank = exchange->rank;
    int *offsets = pl_scratch(call->comm, PL_SLOT_SEND, (size_t)q * (sizeof *offsets + 1));
    PL_NEED(call, offsets);
    char *has = (char *)(offsets + q);
    memset(has, 0, (size_t)q);
    offsets[0] = 0;
    has[0] = 1;
    while ((q - 1) >> levels > 0)
        levels++;
    for (; levels > 0; levels--) {
        const int distance = pl_bine_distance(levels), before = known;
        const int partner = pl_bine_place(rank, distance, q);
        int out = 0, in = 0;
        for (int i = 0; i < before; i++) {
            const int offset = pl_bine_place(0, distance - offsets[i], q);
            if (has[offset])
                continue;
            has[offset] = 1;
            offsets[known++] = offset;
            in = enter(pl_bine_place(rank, offset, q), q, p, exchange->in, in);
            out = enter(pl_bine_place(partner, offset, q), q, p, exchange->out, out);
        }
        if (known > before)
            PL_TRY(pl_exchange(call, exchange, partner, out, partner, in));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank;
    struct pl_gathered parts;
    struct pl_block_rounds exchange;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_exchange_begin(call, p, rank, p / 2 + 1, &parts, &exchange));
    const int q = p - p % 2, last = p - 1, all = p * parts.unit;
    const bool odd = p > 1 && p > q;
    if (odd && rank == last) {
        PL_TRY(pl_peer_send(call, pl_gathered_at(&parts, last), parts.unit, MPI_BYTE, last - 1,
                            TAG_FOLD, exchange.peers));
        PL_TRY(pl_peer_recv(call, parts.base, all, MPI_BYTE, last - 1, TAG_FOLD, exchange.peers));
    } else if (p > 1) {
        if (odd && rank == last - 1)
            PL_TRY(pl_peer_recv(call, pl_gathered_at(&parts, last), parts.unit, MPI_BYTE, last,
                                TAG_FOLD, exchange.peers));
        PL_TRY(rounds(call, &exchange, q));
        if (odd && rank == last - 1)
            PL_TRY(pl_peer_send(call, parts.base, all, MPI_BYTE, last, TAG_FOLD, exchange.peers));
    }
    PL_TRY(pl_gathered_deliver(call, p, &parts));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_bine, run,
            "Bine butterfly, the far ranks first (De Sensi et al. 2025)", .scratch_volumes = 3,
            .least_ranks = 4);
