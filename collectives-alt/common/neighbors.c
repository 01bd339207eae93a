/* The topology of a communicator, and messages along its edges. */
#include "neighbors.h"

#include <stdlib.h>

/* Edges with equal ends differ by their tags; past so many of them the order does. */
enum { TAG_EDGE = PL_OWN_TAG, EDGES = 16384 };

static void free_neighbors(struct pl_neighbors *neighbors)
{
    pl_routes_free(neighbors->routes[0]);
    pl_routes_free(neighbors->routes[1]);
    free(neighbors);
}

/* --- what the library says --- */

/* SimGrid 3.32 has no graphs and no neighbourhood collectives: a call ends the program. */
static int kind_of(MPI_Comm comm, int *kind)
{
#ifdef SMPI_H
    (void)comm;
    *kind = MPI_UNDEFINED;
    return MPI_SUCCESS;
#else
    return PMPI_Topo_test(comm, kind);
#endif
}

bool pl_degrees(MPI_Comm comm, int *in, int *out)
{
    int kind = MPI_UNDEFINED, more = 0, rank;
    const struct pl_kept *kept = pl_seen_on(comm);
    if (kept && kept->neighbors) {
        *in = kept->neighbors->in;
        *out = kept->neighbors->out;
        return true;
    }
    *in = *out = 0;
    if (kind_of(comm, &kind) != MPI_SUCCESS)
        return false;
    if (kind == MPI_DIST_GRAPH)
        return PMPI_Dist_graph_neighbors_count(comm, in, out, &more) == MPI_SUCCESS;
    if (kind == MPI_GRAPH) {
        if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS ||
            PMPI_Graph_neighbors_count(comm, rank, &more) != MPI_SUCCESS)
            return false;
    } else if (kind == MPI_CART) {
        if (PMPI_Cartdim_get(comm, &more) != MPI_SUCCESS)
            return false;
        more *= 2;
    } else {
        return false;
    }
    *in = *out = more;
    return true;
}

static int read_cart(MPI_Comm comm, int places, int *sources, int *destinations)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < places; i += 2) {
        PL_TRY(PMPI_Cart_shift(comm, i / 2, 1, &sources[i], &sources[i + 1]));
        destinations[i] = sources[i];
        destinations[i + 1] = sources[i + 1];
    }
out:
    return rc;
}

static int read_graph(MPI_Comm comm, int in, int *sources, int out, int *destinations)
{
    int rc, kind, rank, *weights;
    PL_TRY(kind_of(comm, &kind));
    if (kind == MPI_CART)
        return read_cart(comm, in, sources, destinations);
    if (kind == MPI_GRAPH) {
        PL_TRY(PMPI_Comm_rank(comm, &rank));
        PL_TRY(PMPI_Graph_neighbors(comm, rank, in, sources));
        memcpy(destinations, sources, (size_t)in * sizeof *sources);
        return rc;
    }
    weights = malloc(((size_t)in + (size_t)out + 1) * sizeof *weights);
    if (!weights)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    rc = PMPI_Dist_graph_neighbors(comm, in, sources, weights, out, destinations, weights + in);
    free(weights);
out:
    return rc;
}

/* --- which edge is which --- */

struct place {
    int rank, at;
};

static int by_rank(const void *one, const void *other)
{
    const struct place *a = one, *b = other;
    return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank)
                              : (a->at > b->at) - (a->at < b->at);
}

/* The number of each place among those of its rank, in order. */
static bool number(const int *ranks, int places, int *numbers)
{
    struct place *sorted = malloc(((size_t)places + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    for (int i = 0; i < places; i++)
        sorted[i] = (struct place){ranks[i], i};
    qsort(sorted, (size_t)places, sizeof *sorted, by_rank);
    for (int i = 0, first = 0; i < places; i++) {
        first = sorted[i].rank == sorted[first].rank ? first : i;
        numbers[sorted[i].at] = i - first;
    }
    free(sorted);
    return true;
}

/* Room for the tables of a neighbourhood behind it. */
static struct pl_neighbors *make(int in, int out, int **tables)
{
    struct pl_neighbors *made =
        calloc(1, sizeof *made + 2 * ((size_t)in + (size_t)out) * sizeof(int) + 1);
    if (!made)
        return NULL;
    *tables = (int *)(made + 1);
    *made = (struct pl_neighbors){.in = in,
                                  .out = out,
                                  .sources = *tables,
                                  .in_number = *tables + in,
                                  .destinations = *tables + 2 * in,
                                  .out_number = *tables + 2 * in + out};
    return made;
}

int pl_neighbors_give(MPI_Comm comm, int in, const int *sources, int out, const int *destinations)
{
    int *tables;
    struct pl_kept *kept = pl_kept_on(comm);
    struct pl_neighbors *made = kept ? make(in, out, &tables) : NULL;
    if (!made)
        return pl_raise(comm, MPI_ERR_NO_MEM);
    memcpy(tables, sources, (size_t)in * sizeof *tables);
    memcpy(tables + 2 * in, destinations, (size_t)out * sizeof *tables);
    if (!number(made->sources, in, tables + in) ||
        !number(made->destinations, out, tables + 2 * in + out)) {
        free(made);
        return pl_raise(comm, MPI_ERR_NO_MEM);
    }
    if (kept->neighbors)
        free_neighbors(kept->neighbors);
    kept->neighbors = made;
    kept->free_neighbors = free_neighbors;
    return MPI_SUCCESS;
}

int pl_neighbors(const struct pl_call *call, struct pl_neighbors **neighbors)
{
    int rc = MPI_SUCCESS, in, out, *tables, none = 0;
    struct pl_kept *kept = pl_kept_of(call);
    struct pl_neighbors *made = NULL;
    PL_NEED(call, kept);
    if (!kept->neighbors) {
        if (!pl_degrees(call->comm, &in, &out))
            return pl_raise(call->comm, MPI_ERR_TOPOLOGY);
        made = make(in, out, &tables);
        PL_NEED(call, made);
        PL_TRY(read_graph(call->comm, in, tables, out, tables + 2 * in));
        PL_NEED(call, number(made->destinations, out, tables + 2 * in + out));
        PL_TRY(PMPI_Neighbor_alltoall(out ? tables + 2 * in + out : &none, 1, MPI_INT,
                                      in ? tables + in : &none, 1, MPI_INT, call->comm));
        kept->neighbors = made;
        kept->free_neighbors = free_neighbors;
        made = NULL;
    }
    *neighbors = kept->neighbors;
out:
    free(made);
    return rc;
}

/* --- messages --- */

int pl_neighbors_begin(const struct pl_call *call, const struct pl_neighbors *neighbors,
                       MPI_Comm peers, pl_is_direct *only, const void *context,
                       MPI_Request *requests, int *open)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < neighbors->in; i++) {
        const int from = neighbors->sources[i];
        const struct pl_block in = pl_from(call, i);
        const long long bytes = from == MPI_PROC_NULL ? 0 : pl_bytes_in(&in);
        if (bytes == 0 || (only && !only(context, from, bytes)))
            continue;
        PL_TRY(pl_peer_irecv(call, (void *)in.buf, in.count, in.type, from,
                             TAG_EDGE + neighbors->in_number[i] % EDGES, peers, &requests[*open]));
        ++*open;
    }
    for (int i = 0; i < neighbors->out; i++) {
        const int to = neighbors->destinations[i];
        const struct pl_block out = pl_to(call, i);
        const long long bytes = to == MPI_PROC_NULL ? 0 : pl_bytes_in(&out);
        if (bytes == 0 || (only && !only(context, to, bytes)))
            continue;
        PL_TRY(pl_peer_isend(call, out.buf, out.count, out.type, to,
                             TAG_EDGE + neighbors->out_number[i] % EDGES, peers, &requests[*open]));
        ++*open;
    }
out:
    return rc;
}

int pl_neighbors_direct(const struct pl_call *call)
{
    int rc, open = 0;
    MPI_Comm peers;
    struct pl_neighbors *neighbors;
    PL_TRY(pl_private(call->comm, &peers));
    PL_TRY(pl_neighbors(call, &neighbors));
    MPI_Request *requests = pl_requests(call->comm, neighbors->in + neighbors->out);
    PL_NEED(call, requests);
    PL_TRY(pl_neighbors_begin(call, neighbors, peers, NULL, NULL, requests, &open));
    PL_TRY(pl_peer_wait_all(call, open, requests));
out:
    return rc;
}
