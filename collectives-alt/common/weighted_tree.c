/* Gatherv and Scatterv on a tree whose shape follows the volumes: see gatherv/weighted_tree.c.
 *
 * Ranks are counted from the root. Ranges of 1, 2, 4, … ranks merge pairwise; the last one may be
 * short. In each range one rank, the holder, has the bundle of all its short blocks. When two
 * ranges merge, the holder with fewer bytes hands its bundle to the other one, or to the root if
 * both do not fit one bundle. The root holds what it receives, so nobody has to tell it anything.
 *
 * The holder may be any rank of its range, and only the range's first rank is known to everybody.
 * So the first ranks of both ranges tell each other who holds how much, and then their holders. */
#include "bundles.h"

enum { TAG_RANGE = 26, TAG_BUNDLE = 27, LEVELS = 31 };

/* The bundle of a range. */
struct range {
    int bytes, holder;
};

/* Of two ranges that merge: who hands over, and to whom. */
struct merger {
    struct range giver, taker;
    bool fits; /* the taker's bundle gets longer; else the giver's goes to the root */
};

static struct merger merger_of(struct range low, struct range high, int most)
{
    struct merger merger = {high, low, true};
    if (low.holder > 0 && low.bytes < high.bytes)
        merger = (struct merger){low, high, true};
    merger.fits = merger.giver.bytes <= most - merger.taker.bytes;
    return merger;
}

static struct range merged(const struct merger *merger)
{
    struct range range = merger->taker;
    range.bytes += merger->fits ? merger->giver.bytes : 0;
    return range;
}

/* --- the root, which knows all counts --- */

static void plan(struct pl_bundles *bundles, struct range *ranges, int most)
{
    struct pl_bundle *pending = bundles->pending;
    for (int v = 0; v < bundles->p; v++)
        ranges[v] = (struct range){pending[v].bytes, v};
    for (long long width = 1; width < bundles->p; width *= 2)
        for (long long low = 0; low + width < bundles->p; low += 2 * width) {
            const struct merger merger = merger_of(ranges[low], ranges[low + width], most);
            struct pl_bundle *given = &pending[merger.giver.holder];
            if (merger.taker.holder == 0 || !merger.fits)
                pl_bundle_make(bundles, given, merger.giver.holder, false);
            else
                pl_bundle_append(bundles, &pending[merger.taker.holder], given);
            if (merger.taker.holder > 0)
                ranges[low] = merged(&merger);
        }
}

static int at_root(const struct pl_call *call, const struct pl_rooted *me, int most)
{
    int rc;
    struct pl_bundles bundles;
    struct range *ranges = pl_scratch(call->comm, PL_SLOT_WORK, (size_t)me->p * sizeof *ranges);
    PL_NEED(call, ranges);
    PL_TRY(pl_bundles_begin(call, me, most, me->p, &bundles));
    plan(&bundles, ranges, most);
    PL_TRY(pl_bundles_exchange(call, me, most, TAG_BUNDLE, &bundles));
out:
    return rc;
}

/* --- all others --- */

/* What a rank has found out of the tree. */
struct place {
    int own, bytes; /* of the own block if it is short; of the whole bundle */
    int parent;
    int children;
    struct range child[LEVELS]; /* in the order of their bytes in the bundle */
};

/* The merger of the range `mine`, whose first rank is `first`, with the one next to it: with the
 * help of the first rank of that if this rank is the first of its own. */
static int meet(const struct pl_call *call, const struct pl_rooted *me, int first, int neighbour,
                const struct range *mine, struct range *other)
{
    int rc = MPI_SUCCESS;
    const MPI_Comm peers = me->peers;
    if (me->v == first) {
        const int peer = pl_to_rank(neighbour, me->root, me->p);
        PL_TRY(pl_peer_sendrecv(call, mine, 2, MPI_INT, peer, TAG_RANGE, other, 2, MPI_INT, peer,
                                TAG_RANGE, peers));
        if (mine->holder != first)
            PL_TRY(pl_peer_send(call, other, 2, MPI_INT, pl_to_rank(mine->holder, me->root, me->p),
                                TAG_RANGE, peers));
    } else {
        PL_TRY(pl_peer_recv(call, other, 2, MPI_INT, pl_to_rank(first, me->root, me->p), TAG_RANGE,
                            peers));
    }
out:
    return rc;
}

static int find_place(const struct pl_call *call, const struct pl_rooted *me, int most,
                      struct place *place)
{
    int rc = MPI_SUCCESS;
    struct range mine = {place->own, me->v}, other;
    bool holds = true;
    for (long long width = 1; width < me->p; width *= 2) {
        const int first = (int)(me->v - me->v % width), low = (int)(first - first % (2 * width));
        if (first != me->v && !holds)
            break; /* nobody asks this rank any more */
        if (low + width >= me->p)
            continue;
        if (low == 0) { /* the root takes it, whatever it is */
            place->parent = holds ? 0 : place->parent;
            break;
        }
        const bool is_low = first == low;
        PL_TRY(meet(call, me, first, (int)(is_low ? low + width : low), &mine, &other));
        const struct merger merger =
            is_low ? merger_of(mine, other, most) : merger_of(other, mine, most);
        mine = merged(&merger);
        if (holds && merger.giver.holder == me->v) {
            place->parent = merger.fits ? merger.taker.holder : 0;
            holds = false;
        } else if (holds && merger.fits && merger.giver.bytes > 0) {
            place->child[place->children++] = merger.giver;
            place->bytes = mine.bytes;
        }
    }
out:
    return rc;
}

static int hand_up(const struct pl_call *call, const struct pl_rooted *me,
                   const struct place *place)
{
    int rc = MPI_SUCCESS, at = place->own;
    const struct pl_block own = pl_own_block(call, me->rank);
    const void *bundle = NULL;
    if (place->children == 0) {
        PL_TRY(pl_block_bytes(&own, PL_SLOT_SEND, call->comm, &bundle));
    } else {
        char *bytes = pl_scratch(call->comm, PL_SLOT_SEND, (size_t)place->bytes);
        PL_NEED(call, bytes);
        if (place->own > 0)
            PL_TRY(pl_pack(own.buf, own.count, own.type, bytes, place->own, call->comm));
        for (int i = 0; i < place->children; at += place->child[i++].bytes)
            PL_TRY(pl_peer_recv(call, bytes + at, place->child[i].bytes, MPI_BYTE,
                                pl_to_rank(place->child[i].holder, me->root, me->p), TAG_BUNDLE,
                                me->peers));
        bundle = bytes;
    }
    PL_TRY(pl_peer_send(call, bundle, place->bytes, MPI_BYTE,
                        pl_to_rank(place->parent, me->root, me->p), TAG_BUNDLE, me->peers));
out:
    return rc;
}

static int hand_down(const struct pl_call *call, const struct pl_rooted *me,
                     const struct place *place)
{
    int rc = MPI_SUCCESS, at = place->bytes;
    void *landing = NULL;
    if (place->children == 0)
        PL_TRY(pl_landing(call, place->bytes, PL_SLOT_RECV, &landing));
    else
        landing = pl_scratch(call->comm, PL_SLOT_RECV, (size_t)place->bytes);
    PL_NEED(call, landing);
    PL_TRY(pl_peer_recv(call, landing, place->bytes, MPI_BYTE,
                        pl_to_rank(place->parent, me->root, me->p), TAG_BUNDLE, me->peers));
    for (int i = place->children - 1; i >= 0; i--) {
        at -= place->child[i].bytes;
        PL_TRY(pl_peer_send(call, (char *)landing + at, place->child[i].bytes, MPI_BYTE,
                            pl_to_rank(place->child[i].holder, me->root, me->p), TAG_BUNDLE,
                            me->peers));
    }
    if (place->own > 0)
        PL_TRY(pl_deliver(call, landing, place->own, 1));
out:
    return rc;
}

int pl_weighted_tree(const struct pl_call *call)
{
    int rc;
    struct pl_rooted me;
    struct pl_long blocks;
    const int most = call->values[0];
    PL_TRY(pl_rooted_begin(call, &me));
    if (me.v == 0)
        return at_root(call, &me, most);
    const struct pl_portion own = pl_own_portion(call);
    struct place place = {.own = pl_short_bytes(&own, most)};
    place.bytes = place.own;
    PL_TRY(pl_long_begin(call, &me, most, &blocks));
    PL_TRY(find_place(call, &me, most, &place));
    if (place.bytes > 0)
        PL_TRY(pl_gathers(call) ? hand_up(call, &me, &place) : hand_down(call, &me, &place));
    PL_TRY(pl_long_end(call, &blocks));
out:
    return rc;
}
