/* Allgather by recursive doubling: in round k ranks 2^k apart exchange all they have.
 *
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.1; ranks beyond a power of two
 * are folded as in their Allreduce (section 4.5).
 * Cost, p a power of two: log2 p a + (p-1)/p n b. Else floor(log2 p) + 2 messages, the last of
 * which brings n bytes to a rank that stood aside.
 * Restrictions: none.
 * Messages: one a round and direction, on the private communicator.
 * Scratch: none; with a derived receive type n bytes.
 *
 * With q the largest power of two up to p and r = p - q, ranks 0 .. 2 r - 1 form pairs: the odd one
 * gives its block to the even one, stands aside, and gets everything at the end. So place v of q
 * begins with blocks 2 v and 2 v + 1 if v < r, else with block v + r, and any row of places has a
 * row of blocks. */
#include "gathered.h"

enum { TAG_FOLD = PL_OWN_TAG, TAG_ROUND };

/* The first block of place v. */
static int first_block(int v, int r)
{
    return v < r ? 2 * v : v + r;
}

static int double_up(const struct pl_call *call, const struct pl_gathered *parts, MPI_Comm peers,
                     int q, int r, int v)
{
    int rc = MPI_SUCCESS;
    for (int m = 1; m < q; m *= 2) {
        const int mine = v / m * m, theirs = mine ^ m, other = v ^ m;
        const int out = first_block(mine, r), in = first_block(theirs, r);
        const int out_end = first_block(mine + m, r), in_end = first_block(theirs + m, r);
        const int partner = first_block(other, r);
        PL_TRY(pl_peer_sendrecv(call, pl_gathered_at(parts, out), (out_end - out) * parts->unit,
                                MPI_BYTE, partner, TAG_ROUND, pl_gathered_at(parts, in),
                                (in_end - in) * parts->unit, MPI_BYTE, partner, TAG_ROUND, peers));
    }
out:
    return rc;
}

static int run(const struct pl_call *call)
{
    int rc, p, rank, q = 1;
    MPI_Comm peers;
    struct pl_gathered parts;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(pl_gathered_begin(call, p, rank, &parts));
    while (q <= p / 2)
        q *= 2;
    const int r = p - q;
    const bool paired = rank < 2 * r, aside = paired && rank % 2 == 1;
    void *all = parts.base, *own = pl_gathered_at(&parts, rank);
    if (aside) {
        PL_TRY(pl_peer_send(call, own, parts.unit, MPI_BYTE, rank - 1, TAG_FOLD, peers));
        PL_TRY(pl_peer_recv(call, all, p * parts.unit, MPI_BYTE, rank - 1, TAG_FOLD, peers));
    } else {
        if (paired)
            PL_TRY(pl_peer_recv(call, pl_gathered_at(&parts, rank + 1), parts.unit, MPI_BYTE,
                                rank + 1, TAG_FOLD, peers));
        PL_TRY(double_up(call, &parts, peers, q, r, paired ? rank / 2 : rank - r));
        if (paired)
            PL_TRY(pl_peer_send(call, all, p * parts.unit, MPI_BYTE, rank + 1, TAG_FOLD, peers));
    }
    PL_TRY(pl_gathered_deliver(call, p, &parts));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_recursive_doubling, run,
            "exchange with ranks 1, 2, 4, … apart (Thakur, Rabenseifner, Gropp 2005)",
            .scratch_volumes = 1);
