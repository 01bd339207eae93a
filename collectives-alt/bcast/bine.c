/* Bcast on a Bine tree: in every round each rank that has the vector sends it to one that has not,
 * the largest subtree first, as on a binomial tree, but nearer by a third: subtrees lie around
 * their roots instead of behind them.
 *
 * Source: De Sensi et al., SC 2025; see common/bine.h.
 * Cost: log2 p (a + n b) where p is a power of two; else one message more.
 * Restrictions: none; any root, any layout.
 * Messages: p - 1 of n bytes, at most floor(log2 p) + 1 from a rank.
 * Scratch: n bytes on ranks with a derived type.
 *
 * The tree is one of q places, q the largest power of two up to p. The first r = p - q places have
 * two ranks each, counted from the root, of which the even one sends to the odd one at last. The
 * subtree of a rank that has t rounds before it is the places at the offsets low[t] .. high[t]. */
#include "bine.h"
#include "bcast.h"

enum { LEVELS = 31 };

/* Returns the first rank of a place. */
static int first_of(int place, int r)
{
    return place < r ? 2 * place : place + r;
}

/* Finds the neighbours of a place in the tree, near children first. Returns how many children it
 * has. */
static int neighbours(int place, int q, int *parent, int *child)
{
    int low[LEVELS] = {0}, high[LEVELS] = {0}, levels = 0, children = 0;
    while (q >> levels > 1) {
        const int distance = pl_bine_distance(++levels);
        low[levels] = distance < 0 ? distance - high[levels - 1] : low[levels - 1];
        high[levels] = distance < 0 ? high[levels - 1] : distance - low[levels - 1];
    }
    *parent = -1;
    for (int at = 0, left = levels; left > 0; left--) {
        const int next = pl_bine_place(at, pl_bine_distance(left), q);
        const int offset = pl_bine_place(0, at % 2 == 0 ? place - at : at - place, q);
        if (at == place) {
            child[left - 1] = next;
            children++;
        } else if (offset > high[left - 1] && offset < q + low[left - 1]) {
            *parent = at;
            at = next;
        }
    }
    return children;
}

static int run(const struct pl_call *call)
{
    int rc, q = 1, above, child[LEVELS + 1];
    struct pl_bcast bcast;
    struct pl_route route = {.parent = MPI_PROC_NULL, .child = child};
    PL_TRY(pl_bcast_begin(call, &bcast));
    while (q <= bcast.p / 2)
        q *= 2;
    const int p = bcast.p, v = bcast.v, r = p - q;
    if (v < 2 * r && v % 2 == 1) {
        route.parent = pl_to_rank(v - 1, bcast.root, p);
    } else {
        if (v < 2 * r)
            child[route.children++] = pl_to_rank(v + 1, bcast.root, p);
        const int more = neighbours(v < 2 * r ? v / 2 : v - r, q, &above, child + route.children);
        for (int i = 0; i < more; i++, route.children++)
            child[route.children] = pl_to_rank(first_of(child[route.children], r), bcast.root, p);
        if (above >= 0)
            route.parent = pl_to_rank(first_of(above, r), bcast.root, p);
    }
    PL_TRY(pl_bcast_down(call, &bcast, &route, bcast.n));
    PL_TRY(pl_bcast_end(call, &bcast));
out:
    return rc;
}

PL_DESCRIBE(PL_ALGORITHM, bcast, bcast_bine, run,
            "Bine tree, binomial with shorter distances (De Sensi et al. 2025)",
            .scratch_volumes = 1, .least_ranks = 4);
