/* Neighbourhood collectives in three steps: in each node one rank collects the blocks that go to
 * another node, sends them there as one message, and one rank there hands them out.
 *
 * Source: Bienz, Gropp, Olson, "Reducing communication in algebraic multigrid with multi-step node
 * aware communication", IJHPCA 34(5), 2020 (there for the vectors of a sparse matrix); Collom, Li,
 * Bienz, "Optimizing irregular communication with neighborhood collectives and locality-aware
 * parallelism", SC Workshops 2023.
 *
 * A unit is what travels on its own: the block of an edge, in Neighbor_allgather(v) the block of a
 * rank for all its neighbours on one node. Which units take which way is in the routes (routes.h).
 * Their lengths are another in each call of a v function, so a message begins with them. Units of
 * more bytes than the limit, which both ends of an edge see, go directly; so nobody needs more
 * memory than units times limit, and all ranks know the most. */
#include "routes.h"

#include <limits.h>

enum { TAG_STEP = 54, HEAD = sizeof(int) };

/* Bytes that are on their way; -1: they go directly. */
struct unit {
    const char *at;
    int bytes;
};

struct travel {
    const struct pl_call *call;
    const struct pl_routes *routes;
    MPI_Comm peers;
    int rank, limit, width; /* width: of a unit with its length */
    char *in[PL_STEPS], *out[PL_STEPS], *packed;
    struct unit *own, *units[PL_STEPS];
    MPI_Request *requests;
    int open, first_in[PL_STEPS], ins[PL_STEPS]; /* requests: of the receives of each step */
};

static char *room_of(const struct travel *t, char *from, const struct pl_channel *channel)
{
    return from + (size_t)channel->first * (size_t)t->width;
}

static int expect(struct travel *t, int step)
{
    int rc = MPI_SUCCESS;
    const struct pl_leg *way = &t->routes->in[step];
    t->first_in[step] = t->open;
    for (int i = 0; i < way->channels; i++) {
        const struct pl_channel *channel = &way->channel[i];
        if (channel->peer == t->rank)
            continue;
        PL_TRY(pl_peer_irecv(t->call, room_of(t, t->in[step], channel), channel->units * t->width,
                             MPI_BYTE, channel->peer, TAG_STEP + step, t->peers,
                             &t->requests[t->open]));
        t->open++;
    }
    t->ins[step] = t->open - t->first_in[step];
out:
    return rc;
}

/* The lengths of all units, then their bytes; returns the length of the message. */
static int fill(char *to, const struct unit *units, const int *refs, int count)
{
    int length = count * HEAD;
    for (int i = 0; i < count; i++) {
        const struct unit *unit = &units[refs[i]];
        memcpy(to + i * HEAD, &unit->bytes, HEAD);
        if (unit->bytes > 0) {
            memcpy(to + length, unit->at, (size_t)unit->bytes);
            length += unit->bytes;
        }
    }
    return length;
}

static void parse(const char *from, struct unit *units, int count)
{
    const char *at = from + count * HEAD;
    for (int i = 0; i < count; i++) {
        memcpy(&units[i].bytes, from + i * HEAD, HEAD);
        units[i].at = at;
        at += units[i].bytes > 0 ? units[i].bytes : 0;
    }
}

/* Sends what the step before has brought. What goes to this rank itself is written to where it
 * would arrive. */
static int go_on(struct travel *t, int step, const struct unit *units)
{
    int rc = MPI_SUCCESS;
    const struct pl_leg *way = &t->routes->out[step], *in = &t->routes->in[step];
    for (int i = 0; i < way->channels; i++) {
        const struct pl_channel *channel = &way->channel[i];
        char *to = room_of(t, t->out[step], channel);
        for (int own = 0; channel->peer == t->rank && own < in->channels; own++)
            if (in->channel[own].peer == t->rank)
                to = room_of(t, t->in[step], &in->channel[own]);
        const int length = fill(to, units, way->ref + channel->first, channel->units);
        if (channel->peer == t->rank)
            continue;
        PL_TRY(pl_peer_isend(t->call, to, length, MPI_BYTE, channel->peer, TAG_STEP + step,
                             t->peers, &t->requests[t->open]));
        t->open++;
    }
out:
    return rc;
}

static int take(struct travel *t, int step)
{
    int rc;
    const struct pl_leg *way = &t->routes->in[step];
    PL_TRY(pl_peer_wait_all(t->call, t->ins[step], t->requests + t->first_in[step]));
    for (int i = 0; i < way->channels; i++)
        parse(room_of(t, t->in[step], &way->channel[i]), t->units[step] + way->channel[i].first,
              way->channel[i].units);
out:
    return rc;
}

static bool is_short(const struct travel *t, long long bytes)
{
    return bytes >= 0 && bytes <= t->limit;
}

/* The own blocks that are to travel, packed where their memory is not that of their bytes. */
static int collect(struct travel *t)
{
    int rc = MPI_SUCCESS;
    const struct pl_leg *way = &t->routes->out[0];
    for (int i = 0; i < way->units; i++) {
        const int place = way->ref[i];
        const struct pl_block block = pl_to(t->call, place);
        const long long bytes = pl_bytes_in(&block);
        struct unit *unit = &t->own[place];
        *unit = (struct unit){block.buf, is_short(t, bytes) ? (int)bytes : -1};
        if (unit->bytes <= 0 || pl_dense(block.type))
            continue;
        char *packed = t->packed + (size_t)place * (size_t)t->width;
        PL_TRY(pl_pack(block.buf, block.count, block.type, packed, unit->bytes, t->call->comm));
        unit->at = packed;
    }
out:
    return rc;
}

static int hand_out(const struct travel *t, const struct pl_neighbors *neighbors)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < neighbors->in; i++) {
        if (t->routes->unit_of[i] < 0)
            continue;
        const struct unit *unit = &t->units[PL_STEPS - 1][t->routes->unit_of[i]];
        const struct pl_block block = pl_from(t->call, i);
        const long long bytes = pl_bytes_in(&block);
        if (unit->bytes < 0)
            continue;
        if (unit->bytes != bytes)
            return pl_raise(t->call->comm, MPI_ERR_TRUNCATE);
        if (bytes > 0)
            PL_TRY(pl_unpack(unit->at, unit->bytes, (void *)block.buf, block.count, block.type,
                             t->call->comm));
    }
out:
    return rc;
}

static bool prepare(struct travel *t, const struct pl_neighbors *neighbors)
{
    const struct pl_routes *routes = t->routes;
    size_t units = 0, arrivals = (size_t)neighbors->out + 1;
    int requests = neighbors->in + neighbors->out;
    for (int step = 0; step < PL_STEPS; step++) {
        units += (size_t)routes->in[step].units + (size_t)routes->out[step].units;
        arrivals += (size_t)routes->in[step].units;
        requests += routes->in[step].channels + routes->out[step].channels;
    }
    const MPI_Comm comm = t->call->comm;
    char *at =
        pl_scratch(comm, PL_SLOT_WORK,
                   (units + (size_t)pl_routes_to_pack(routes, neighbors)) * (size_t)t->width);
    struct unit *next = pl_scratch(comm, PL_SLOT_AUX, arrivals * sizeof *next);
    t->requests = pl_requests(comm, requests);
    if (!at || !next || !t->requests)
        return false;
    t->own = next;
    next += neighbors->out + 1;
    for (int step = 0; step < PL_STEPS; step++) {
        t->in[step] = at;
        at += (size_t)routes->in[step].units * (size_t)t->width;
        t->out[step] = at;
        at += (size_t)routes->out[step].units * (size_t)t->width;
        t->units[step] = next;
        next += routes->in[step].units;
    }
    t->packed = at;
    return true;
}

/* An edge that is not combined. */
struct direct {
    const int *node_of;
    const struct travel *travel;
};
static bool goes_directly(const void *context, int other, long long bytes)
{
    const struct direct *direct = context;
    return direct->node_of[other] == direct->node_of[direct->travel->rank] ||
           !is_short(direct->travel, bytes);
}

/* Blocks of equal length are long on both ends of all edges, or on none. */
static bool travels(const struct travel *t, int places, const struct pl_block *block, bool equal)
{
    return !equal || (places > 0 && is_short(t, pl_bytes_in(block)));
}

static int run(struct travel *t, const struct pl_neighbors *neighbors, const int *node_of)
{
    int rc = MPI_SUCCESS;
    const struct pl_call *call = t->call;
    const struct direct direct = {node_of, t};
    const bool equal =
        call->function == PL_FN_neighbor_allgather || call->function == PL_FN_neighbor_alltoall;
    const struct pl_block none = {0}, to = equal ? pl_to(call, 0) : none;
    const struct pl_block from = equal ? pl_from(call, 0) : none;
    const bool out = travels(t, neighbors->out, &to, equal);
    const bool in = travels(t, neighbors->in, &from, equal);
    PL_NEED(call, prepare(t, neighbors));
    for (int step = 0; step < PL_STEPS; step++)
        if (step == 0 ? out : in)
            PL_TRY(expect(t, step));
    if (out) {
        PL_TRY(collect(t));
        PL_TRY(go_on(t, 0, t->own));
    }
    PL_TRY(pl_neighbors_begin(call, neighbors, t->peers, goes_directly, &direct, t->requests,
                              &t->open));
    if (out) {
        PL_TRY(take(t, 0));
        PL_TRY(go_on(t, 1, t->units[0]));
    }
    if (in) {
        PL_TRY(take(t, 1));
        PL_TRY(go_on(t, 2, t->units[1]));
        PL_TRY(take(t, 2));
        PL_TRY(hand_out(t, neighbors));
    }
    PL_TRY(pl_peer_wait_all(call, t->open, t->requests));
out:
    return rc;
}

int pl_neighbors_node_aware(const struct pl_call *call)
{
    int rc, p;
    struct travel t = {.call = call, .limit = call->values[0]};
    struct pl_neighbors *neighbors;
    const struct pl_nodes *nodes;
    const bool gathers =
        call->function == PL_FN_neighbor_allgather || call->function == PL_FN_neighbor_allgatherv;
    PL_TRY(pl_private(call->comm, &t.peers));
    PL_TRY(pl_nodes(call->comm, &nodes));
    PL_TRY(pl_neighbors(call, &neighbors));
    PL_TRY(pl_ranks(call, &p, &t.rank));
    if (nodes->count == 1 || nodes->most_ppn == 1)
        return pl_neighbors_direct(call);
    struct pl_routes **routes = &neighbors->routes[gathers ? 0 : 1];
    if (!*routes)
        PL_TRY(pl_routes_make(call, neighbors, nodes, gathers, routes));
    const long long bytes = (*routes)->most_units * ((long long)t.limit + HEAD);
    if (bytes == 0 || bytes > INT_MAX || (size_t)bytes > pl_scratch_state.most / 2)
        return pl_neighbors_direct(call);
    t.routes = *routes;
    t.width = t.limit + HEAD;
    rc = run(&t, neighbors, nodes->node_of);
out:
    return rc;
}
