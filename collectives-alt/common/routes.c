/* The routes of blocks between nodes: which edges there are, who forwards, and where each unit is
 * in the messages of the three steps. */
#include "routes.h"

#include <stdlib.h>

void pl_routes_free(struct pl_routes *routes)
{
    if (!routes)
        return;
    for (int step = 0; step < PL_STEPS; step++) {
        free(routes->in[step].channel);
        free(routes->in[step].ref);
        free(routes->out[step].channel);
        free(routes->out[step].ref);
    }
    free(routes->unit_of);
    free(routes);
}

int pl_routes_to_pack(const struct pl_routes *routes, const struct pl_neighbors *neighbors)
{
    return routes->out[0].units > 0 ? neighbors->out : 0;
}

/* --- the edges between nodes --- */

struct edge {
    int node; /* the other one */
    int from, to, number, order;
};

static int by_node(const void *one, const void *other)
{
    const struct edge *a = one, *b = other;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Of all ranks the edges to other nodes, as pairs of destination and number: those of a rank begin
 * at first[rank]. */
static int all_edges(const struct pl_call *call, const struct pl_neighbors *neighbors,
                     const int *node_of, int p, int rank, int **first, int **pairs)
{
    int rc = MPI_SUCCESS, mine = 0;
    int *own = malloc(2 * ((size_t)neighbors->out + 1) * sizeof *own);
    int *tables = *first = malloc((2 * (size_t)p + 1) * sizeof *tables);
    *pairs = NULL;
    PL_NEED(call, own && tables);
    for (int i = 0; i < neighbors->out; i++) {
        const int to = neighbors->destinations[i];
        if (to == MPI_PROC_NULL || node_of[to] == node_of[rank])
            continue;
        own[mine++] = to;
        own[mine++] = neighbors->out_number[i];
    }
    int *counts = tables + p + 1;
    PL_TRY(PMPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, call->comm));
    tables[0] = 0;
    for (int i = 0; i < p; i++)
        tables[i + 1] = tables[i] + counts[i];
    *pairs = malloc(((size_t)tables[p] + 1) * sizeof **pairs);
    PL_NEED(call, *pairs);
    PL_TRY(PMPI_Allgatherv(own, mine, MPI_INT, *pairs, counts, tables, MPI_INT, call->comm));
out:
    free(own);
    return rc;
}

/* Those that leave this node, or arrive there, by the other node; NULL when memory is short. */
static struct edge *edges_of(int node, bool leave, const int *node_of, int p, const int *first,
                             const int *pairs, int *count)
{
    struct edge *edges = malloc(((size_t)first[p] / 2 + 1) * sizeof *edges);
    *count = 0;
    for (int from = 0; edges && from < p; from++) {
        if (leave != (node_of[from] == node))
            continue;
        for (int i = first[from]; i < first[from + 1]; i += 2)
            if (leave || node_of[pairs[i]] == node) {
                const int other = node_of[leave ? pairs[i] : from];
                edges[*count] = (struct edge){other, from, pairs[i], pairs[i + 1], i};
                ++*count;
            }
    }
    if (edges)
        qsort(edges, (size_t)*count, sizeof *edges, by_node);
    return edges;
}

/* --- who forwards --- */

static int by_value(const void *one, const void *other)
{
    const int a = *(const int *)one, b = *(const int *)other;
    return (a > b) - (a < b);
}

/* One of the ranks that have edges between two nodes, another one for each partner of a node. */
static int chosen(int *ranks, int count, int partner)
{
    int different = 0;
    qsort(ranks, (size_t)count, sizeof *ranks, by_value);
    for (int i = 0; i < count; i++)
        if (i == 0 || ranks[i] != ranks[i - 1])
            ranks[different++] = ranks[i];
    return ranks[partner % different];
}

/* `count` edges from one node to another: who sends them all, and who receives them. */
struct pair {
    const struct edge *edges;
    int count, sender, receiver;
};

static struct pair pair_of(const struct edge *edges, int count, int from, int to, int *room)
{
    struct pair pair = {.edges = edges, .count = count};
    for (int i = 0; i < count; i++)
        room[i] = edges[i].from;
    pair.sender = chosen(room, count, to);
    for (int i = 0; i < count; i++)
        room[i] = edges[i].to;
    pair.receiver = chosen(room, count, from);
    return pair;
}

/* --- routes --- */

struct item {
    int peer, order, ref;
};

/* Units of a way in the order in which they are found; their peers order them at last. */
struct list {
    struct item *items;
    int count, room;
};

struct maker {
    struct pl_routes *routes;
    struct list in[PL_STEPS], out[PL_STEPS];
    bool gathers, failed; /* gathers: one unit for all edges between a rank and a node */
    int rank;
    const int *first;      /* of this rank among all pairs */
    const int *out_place;  /* by own edge: its place */
    const struct edge *at; /* sorted places of the sources: from, number, and the place in order */
    int places;
};

static int push(struct maker *maker, struct list *list, int peer, int ref)
{
    if (list->count == list->room) {
        const int room = 2 * list->room + 16;
        struct item *more = realloc(list->items, (size_t)room * sizeof *more);
        if (!more) {
            maker->failed = true;
            return 0;
        }
        list->items = more;
        list->room = room;
    }
    list->items[list->count] = (struct item){peer, list->count, ref};
    return list->count++;
}

static int by_peer(const void *one, const void *other)
{
    const struct item *a = one, *b = other;
    return a->peer != b->peer ? (a->peer > b->peer) - (a->peer < b->peer)
                              : (a->order > b->order) - (a->order < b->order);
}

/* Sorts the units; `place` (by order of finding) gets where they are then. */
static void settle(struct maker *maker, struct list *list, struct pl_leg *way, int **place)
{
    const size_t room = (size_t)list->count + 1;
    way->channel = malloc(room * sizeof *way->channel);
    way->ref = malloc(room * sizeof *way->ref);
    int *to = malloc(room * sizeof *to);
    if (place)
        *place = to;
    if (!way->channel || !way->ref || !to) {
        maker->failed = true;
    } else {
        if (list->count > 0)
            qsort(list->items, (size_t)list->count, sizeof *list->items, by_peer);
        for (int i = 0; i < list->count; i++) {
            const struct item *item = &list->items[i];
            if (i == 0 || item->peer != item[-1].peer)
                way->channel[way->channels++] = (struct pl_channel){item->peer, i, 0};
            way->channel[way->channels - 1].units++;
            way->ref[i] = item->ref;
            to[item->order] = i;
        }
        way->units = list->count;
    }
    if (!place)
        free(to);
    free(list->items);
}

/* The edges of one unit: how many from edges[i] on. */
static int unit_edges(const struct maker *maker, const struct pair *pair, int i)
{
    int end = i + 1;
    while (maker->gathers && end < pair->count && pair->edges[end].from == pair->edges[i].from)
        end++;
    return end - i;
}

static void leave(struct maker *maker, const struct pair *pair)
{
    for (int i = 0, edges; i < pair->count; i += edges) {
        const struct edge *edge = &pair->edges[i];
        edges = unit_edges(maker, pair, i);
        if (edge->from == maker->rank)
            push(maker, &maker->out[0], pair->sender,
                 maker->gathers ? 0 : maker->out_place[(edge->order - *maker->first) / 2]);
        if (pair->sender == maker->rank)
            push(maker, &maker->out[1], pair->receiver, push(maker, &maker->in[0], edge->from, 0));
    }
}

static int by_source(const void *one, const void *other)
{
    const struct edge *a = one, *b = other;
    return a->from != b->from ? (a->from > b->from) - (a->from < b->from)
                              : (a->number > b->number) - (a->number < b->number);
}

static void arrive(struct maker *maker, const struct pair *pair)
{
    for (int i = 0, edges; i < pair->count; i += edges) {
        const struct edge *edge = &pair->edges[i];
        int unit = -1, last = -1;
        edges = unit_edges(maker, pair, i);
        if (pair->receiver == maker->rank)
            unit = push(maker, &maker->in[1], pair->sender, 0);
        for (const struct edge *end = edge + edges; edge < end; edge++) {
            const bool once = !maker->gathers || edge->number == 0;
            if (unit >= 0 && once)
                push(maker, &maker->out[2], edge->to, unit);
            if (edge->to != maker->rank)
                continue;
            if (once)
                last = push(maker, &maker->in[2], pair->receiver, 0);
            const struct edge *place =
                bsearch(edge, maker->at, (size_t)maker->places, sizeof *maker->at, by_source);
            if (place)
                maker->routes->unit_of[place->order] = last;
        }
    }
}

/* All edges of one direction, pair by pair. */
static void walk(struct maker *maker, const struct edge *edges, int count, bool leaves, int node)
{
    int *room = malloc(((size_t)count + 1) * sizeof *room);
    if (!room) {
        maker->failed = true;
        return;
    }
    for (int i = 0, end; i < count; i = end) {
        const int other = edges[i].node;
        for (end = i; end < count && edges[end].node == other;)
            end++;
        const struct pair pair =
            pair_of(&edges[i], end - i, leaves ? node : other, leaves ? other : node, room);
        (leaves ? leave : arrive)(maker, &pair);
    }
    free(room);
}

/* What is found in a step refers to what the step before brings. */
static void settle_all(struct maker *maker, int sources)
{
    struct pl_routes *routes = maker->routes;
    long long units = 0;
    settle(maker, &maker->out[0], &routes->out[0], NULL);
    for (int step = 0; step < PL_STEPS; step++) {
        int *place = NULL;
        settle(maker, &maker->in[step], &routes->in[step], &place);
        if (step + 1 < PL_STEPS)
            settle(maker, &maker->out[step + 1], &routes->out[step + 1], NULL);
        if (!maker->failed && step + 1 < PL_STEPS)
            for (int i = 0; i < routes->out[step + 1].units; i++)
                routes->out[step + 1].ref[i] = place[routes->out[step + 1].ref[i]];
        if (!maker->failed && step + 1 == PL_STEPS)
            for (int i = 0; i < sources; i++)
                if (routes->unit_of[i] >= 0)
                    routes->unit_of[i] = place[routes->unit_of[i]];
        free(place);
        units += routes->in[step].units + routes->out[step].units;
    }
    routes->most_units = units;
}

int pl_routes_make(const struct pl_call *call, const struct pl_neighbors *neighbors,
                   const struct pl_nodes *nodes, bool gathers, struct pl_routes **made)
{
    int rc, p, rank, *first = NULL, *pairs = NULL, *places = NULL, leaving = 0, arriving = 0;
    struct edge *away = NULL, *here = NULL, *at = NULL;
    struct pl_routes *routes = calloc(1, sizeof *routes);
    PL_TRY(pl_ranks(call, &p, &rank));
    const int node = nodes->node_of[rank];
    PL_TRY(all_edges(call, neighbors, nodes->node_of, p, rank, &first, &pairs));
    away = edges_of(node, true, nodes->node_of, p, first, pairs, &leaving);
    here = edges_of(node, false, nodes->node_of, p, first, pairs, &arriving);
    places = malloc(((size_t)neighbors->out + 1) * sizeof *places);
    at = malloc(((size_t)neighbors->in + 1) * sizeof *at);
    if (routes)
        routes->unit_of = malloc(((size_t)neighbors->in + 1) * sizeof(int));
    PL_NEED(call, away && here && places && at && routes && routes->unit_of);
    for (int i = 0, own = 0; i < neighbors->out; i++) {
        const int to = neighbors->destinations[i];
        if (to != MPI_PROC_NULL && nodes->node_of[to] != node)
            places[own++] = i;
    }
    for (int i = 0; i < neighbors->in; i++) {
        at[i] = (struct edge){0, neighbors->sources[i], rank, neighbors->in_number[i], i};
        routes->unit_of[i] = -1;
    }
    qsort(at, (size_t)neighbors->in, sizeof *at, by_source);
    struct maker maker = {.routes = routes,
                          .gathers = gathers,
                          .rank = rank,
                          .first = &first[rank],
                          .out_place = places,
                          .at = at,
                          .places = neighbors->in};
    walk(&maker, away, leaving, true, node);
    walk(&maker, here, arriving, false, node);
    settle_all(&maker, neighbors->in);
    PL_NEED(call, !maker.failed);
    routes->most_units += pl_routes_to_pack(routes, neighbors);
    PL_TRY(
        PMPI_Allreduce(MPI_IN_PLACE, &routes->most_units, 1, MPI_LONG_LONG, MPI_MAX, call->comm));
    *made = routes;
    routes = NULL;
out:
    pl_routes_free(routes);
    free(first);
    free(pairs);
    free(places);
    free(away);
    free(here);
    free(at);
    return rc;
}
