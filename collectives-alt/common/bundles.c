/* What trees of bundles share; see bundles.h. */
#include "bundles.h"
#include <string.h>

enum { TAG_LONG = 25 };

static size_t bytes_of(const struct pl_portion *portion)
{
    return (size_t)portion->count * (size_t)pl_size_of(portion->type);
}

int pl_short_bytes(const struct pl_portion *portion, int most)
{
    const size_t bytes = bytes_of(portion);
    return bytes <= (size_t)most ? (int)bytes : 0;
}

int pl_bundles_begin(const struct pl_call *call, const struct pl_rooted *me, int most,
                     int most_made, struct pl_bundles *bundles)
{
    int rc = MPI_SUCCESS;
    const size_t p = (size_t)me->p;
    char *memory =
        pl_scratch(call->comm, PL_SLOT_AUX,
                   (p + (size_t)most_made) * sizeof *bundles->made + p * sizeof *bundles->next);
    PL_NEED(call, memory);
    bundles->p = me->p;
    bundles->count = 0;
    bundles->pending = (struct pl_bundle *)memory;
    bundles->made = bundles->pending + p;
    bundles->next = (int *)(bundles->made + most_made);
    for (int v = 0; v < me->p; v++) {
        const struct pl_portion portion = pl_root_portion(call, pl_to_rank(v, me->root, me->p));
        const int bytes = v == 0 ? 0 : pl_short_bytes(&portion, most);
        bundles->pending[v] = (struct pl_bundle){v, v, bytes, v, 0, NULL};
        bundles->next[v] = -1;
    }
out:
    return rc;
}

void pl_bundle_append(struct pl_bundles *bundles, struct pl_bundle *to, struct pl_bundle *from)
{
    if (from->bytes > 0 && to->bytes > 0) {
        bundles->next[to->last] = from->first;
        to->last = from->last;
        to->bytes += from->bytes;
    } else if (from->bytes > 0) {
        to->first = from->first;
        to->last = from->last;
        to->bytes = from->bytes;
    }
    from->bytes = 0;
}

void pl_bundle_make(struct pl_bundles *bundles, const struct pl_bundle *bundle, int peer, bool sent)
{
    if (bundle->bytes == 0 && !sent)
        return;
    bundles->made[bundles->count] = *bundle;
    bundles->made[bundles->count++].peer = peer;
}

/* The rank after v in a bundle; -1 at its end. */
static int next_of(const struct pl_bundles *bundles, const struct pl_bundle *bundle, int v)
{
    return v == bundle->last ? -1 : bundles->next[v];
}

/* --- long blocks --- */

int pl_long_begin(const struct pl_call *call, const struct pl_rooted *me, int most,
                  struct pl_long *blocks)
{
    int rc = MPI_SUCCESS;
    const bool root = me->v == 0, receives = root == pl_gathers(call);
    blocks->open = 0;
    blocks->requests = pl_requests(call->comm, root ? me->p : 1);
    PL_NEED(call, blocks->requests);
    for (int v = 1; v < (root ? me->p : 2); v++) {
        const int peer = root ? pl_to_rank(v, me->root, me->p) : me->root;
        const struct pl_portion block = root ? pl_root_portion(call, peer) : pl_own_portion(call);
        MPI_Request *request = &blocks->requests[blocks->open];
        if (bytes_of(&block) <= (size_t)most)
            continue;
        if (receives)
            PL_TRY(pl_peer_irecv(call, block.buf, block.count, block.type, peer, TAG_LONG,
                                 me->peers, request));
        else
            PL_TRY(pl_peer_isend(call, block.buf, block.count, block.type, peer, TAG_LONG,
                                 me->peers, request));
        blocks->open++;
    }
out:
    return rc;
}

int pl_long_end(const struct pl_call *call, struct pl_long *blocks)
{
    return pl_peer_wait_all(call, blocks->open, blocks->requests);
}

/* --- the root --- */

/* Bytes of a bundle in the user's memory; NULL where they are not one run of bytes. */
static char *place_of(const struct pl_call *call, const struct pl_rooted *me,
                      const struct pl_bundles *bundles, const struct pl_bundle *bundle)
{
    char *start = NULL;
    intptr_t end = 0;
    for (int v = bundle->first; v >= 0 && bundle->bytes > 0; v = next_of(bundles, bundle, v)) {
        const struct pl_portion portion = pl_root_portion(call, pl_to_rank(v, me->root, me->p));
        if (!pl_dense(portion.type) || (start && end != (intptr_t)portion.buf))
            return NULL;
        start = start ? start : portion.buf;
        end = (intptr_t)portion.buf + (intptr_t)bytes_of(&portion);
    }
    return start;
}

/* Between the user's memory and the bytes of a message: out of it in a Gatherv, else into it. */
static int copy(const struct pl_call *call, const struct pl_rooted *me,
                const struct pl_bundles *bundles, const struct pl_bundle *bundle, char *bytes)
{
    int rc = MPI_SUCCESS;
    for (int v = bundle->first; bundle->bytes > 0 && v >= 0; v = next_of(bundles, bundle, v)) {
        const struct pl_portion portion = pl_root_portion(call, pl_to_rank(v, me->root, me->p));
        const int length = (int)bytes_of(&portion);
        if (pl_gathers(call))
            PL_TRY(pl_unpack(bytes, length, portion.buf, portion.count, portion.type, call->comm));
        else
            PL_TRY(pl_pack(portion.buf, portion.count, portion.type, bytes, length, call->comm));
        bytes += length;
    }
out:
    return rc;
}

static int receive(const struct pl_call *call, const struct pl_rooted *me,
                   const struct pl_bundles *bundles, const struct pl_bundle *bundle, int tag)
{
    int rc = MPI_SUCCESS;
    char *place = place_of(call, me, bundles, bundle);
    char *bytes = place ? place : pl_scratch(call->comm, PL_SLOT_RECV, (size_t)bundle->bytes);
    PL_NEED(call, bytes);
    PL_TRY(pl_peer_recv(call, bytes, bundle->bytes, MPI_BYTE,
                        pl_to_rank(bundle->peer, me->root, me->p), tag, me->peers));
    if (!place)
        PL_TRY(copy(call, me, bundles, bundle, bytes));
out:
    return rc;
}

static int send(const struct pl_call *call, const struct pl_rooted *me,
                const struct pl_bundles *bundles, const struct pl_bundle *bundle, int tag)
{
    int rc = MPI_SUCCESS;
    const size_t heads = (size_t)bundle->heads * sizeof *bundle->head;
    char *place = heads > 0 ? NULL : place_of(call, me, bundles, bundle);
    char *bytes =
        place ? place : pl_scratch(call->comm, PL_SLOT_RECV, heads + (size_t)bundle->bytes);
    PL_NEED(call, bytes);
    if (heads > 0)
        memcpy(bytes, bundle->head, heads);
    if (!place)
        PL_TRY(copy(call, me, bundles, bundle, bytes + heads));
    PL_TRY(pl_peer_send(call, bytes, (int)heads + bundle->bytes, MPI_BYTE,
                        pl_to_rank(bundle->peer, me->root, me->p), tag, me->peers));
out:
    return rc;
}

int pl_bundles_exchange(const struct pl_call *call, const struct pl_rooted *me, int most, int tag,
                        const struct pl_bundles *bundles)
{
    int rc = MPI_SUCCESS;
    struct pl_long blocks;
    const bool gathers = pl_gathers(call);
    if (gathers)
        PL_TRY(pl_long_begin(call, me, most, &blocks));
    for (int i = 0; i < bundles->count && gathers; i++)
        PL_TRY(receive(call, me, bundles, &bundles->made[i], tag));
    for (int i = bundles->count - 1; i >= 0 && !gathers; i--)
        PL_TRY(send(call, me, bundles, &bundles->made[i], tag));
    if (!gathers)
        PL_TRY(pl_long_begin(call, me, most, &blocks));
    PL_TRY(pl_root_keeps(call, me->peers));
    PL_TRY(pl_long_end(call, &blocks));
out:
    return rc;
}
