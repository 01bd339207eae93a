/* Allgather by recursive multiplying: in every round groups of up to k ranks exchange all they have
 * at once, every member with every other. k = 2 is allgather_recursive_doubling.
 *
 * Source: Ruefenacht, Bull, Booth, "Generalisation of recursive doubling for AllReduce", Parallel
 * Computing 69, 2017; for Allgather Wilkins et al., "Generalized Collective Algorithms for the
 * Exascale Era", CLUSTER 2023.
 * Cost where p is a product of factors up to k: (k-1) logk p a + (p-1)/p n b; where messages to
 * several ranks overlap, logk p a. Else two messages more, as in recursive_doubling.c.
 * Restrictions: none.
 * Messages: one to and from each other member of the group in a round, all open at once, on the
 * private communicator.
 * Scratch: none; with a derived receive type n bytes; 2 k requests.
 *
 * q is the largest product of factors up to k that is not above p. It is above p/2, so that the
 * r = p - q ranks beyond it can be folded: ranks 0 .. 2 r - 1 form pairs, of which the odd one
 * gives its block to the even one, stands aside, and gets everything at the end. So place v of q
 * begins with blocks 2 v and 2 v + 1 if v < r, else with block v + r, and any row of places has a
 * row of blocks. */
#include "gathered.h"
#include "parameters.h"

enum { TAG_FOLD = PL_OWN_TAG, TAG_ROUND };

/* The first block of place v. */
static int first_block(int v, int r)
{
    return v < r ? 2 * v : v + r;
}

static bool is_product(int q, int most)
{
    for (int factor = 2; factor <= most && factor <= q; factor++)
        while (q % factor == 0)
            q /= factor;
    return q == 1;
}

static int largest_factor(int q, int most)
{
    int factor = most < q ? most : q;
    while (q % factor != 0)
        factor--;
    return factor;
}

/* The memory of the blocks of places that follow one another. */
struct row {
    void *at;
    int bytes;
};

static struct row row_of(const struct pl_gathered *parts, int p, int r, int place, int m)
{
    const int first = first_block(place, r), end = first_block(place + m, r);
    return (struct row){pl_gathered_at(parts, first),
                        pl_gathered_span(parts, p, first, end - first)};
}

/* Does a round: place v has the blocks of the row of m places that v is in; the members of its
 * group are m places apart. */
static int exchange(const struct pl_call *call, const struct pl_gathered *parts, MPI_Comm peers,
                    int p, int r, int v, int m, int members, MPI_Request *requests)
{
    int rc = MPI_SUCCESS, open = 0;
    const int mine = v / m * m, member = v / m % members;
    const struct row out = row_of(parts, p, r, mine, m);
    for (int i = 1; i < members; i++) {
        const int away = ((member + i) % members - member) * m;
        const int partner = first_block(v + away, r);
        const struct row in = row_of(parts, p, r, mine + away, m);
        PL_TRY(pl_peer_irecv(call, in.at, in.bytes, MPI_BYTE, partner, TAG_ROUND, peers,
                             &requests[open++]));
        PL_TRY(pl_peer_isend(call, out.at, out.bytes, MPI_BYTE, partner, TAG_ROUND, peers,
                             &requests[open++]));
    }
    PL_TRY(pl_peer_wait_all(call, open, requests));
out:
    return rc;
}

static int rounds(const struct pl_call *call, const struct pl_gathered *parts, MPI_Comm peers,
                  int p, int q, int v)
{
    int rc = MPI_SUCCESS, members;
    const int radix = call->values[0];
    MPI_Request *requests = pl_requests(call->comm, 2 * (radix < q ? radix : q));
    PL_NEED(call, requests);
    for (int m = 1; m < q; m *= members) {
        members = largest_factor(q / m, radix);
        PL_TRY(exchange(call, parts, peers, p, p - q, v, m, members, requests));
    }
out:
    return rc;
}

int pl_allgather_by_multiplying(const struct pl_call *call)
{
    int rc, p, rank;
    MPI_Comm peers;
    struct pl_gathered parts;
    PL_TRY(pl_ranks(call, &p, &rank));
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(pl_gathered_begin_in_a_row(call, p, rank, &parts));
    int q = p;
    while (!is_product(q, call->values[0]))
        q--;
    const int r = p - q;
    const bool paired = rank < 2 * r, aside = paired && rank % 2 == 1;
    const int low = rank - aside, n = pl_gathered_span(&parts, p, 0, p);
    void *all = pl_gathered_at(&parts, 0), *odd = pl_gathered_at(&parts, paired ? low + 1 : rank);
    const int odd_bytes = pl_gathered_bytes(&parts, paired ? low + 1 : rank);
    if (aside) {
        PL_TRY(pl_peer_send(call, odd, odd_bytes, MPI_BYTE, low, TAG_FOLD, peers));
        PL_TRY(pl_peer_recv(call, all, n, MPI_BYTE, low, TAG_FOLD, peers));
    } else {
        if (paired)
            PL_TRY(pl_peer_recv(call, odd, odd_bytes, MPI_BYTE, rank + 1, TAG_FOLD, peers));
        PL_TRY(rounds(call, &parts, peers, p, q, paired ? rank / 2 : rank - r));
        if (paired)
            PL_TRY(pl_peer_send(call, all, n, MPI_BYTE, rank + 1, TAG_FOLD, peers));
    }
    PL_TRY(pl_gathered_deliver(call, p, &parts));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, allgather, allgather_recursive_multiplying, pl_allgather_by_multiplying,
            "exchange in groups of up to k ranks (Ruefenacht et al. 2017)", .scratch_volumes = 1,
            .parameters = {PL_MULTIPLYING_RADIX}, .least_ranks = 4);
