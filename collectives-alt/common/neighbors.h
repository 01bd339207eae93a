/* Neighbourhood collectives: the topology of a communicator, read once and kept on it.
 *
 * Each rank has places for neighbours: it receives a block into each place of `sources` and sends a
 * block (Neighbor_alltoall(v)) or its only one (Neighbor_allgather(v)) to each of `destinations`.
 * Places may name one rank several times, this rank, or MPI_PROC_NULL. */
#ifndef PL_NEIGHBORS_H
#define PL_NEIGHBORS_H

#include "everyone.h"

struct pl_routes;

/* An edge is known on both sides by its two ends and its number among the edges with these ends. */
struct pl_neighbors {
    int in, out; /* how many places, those of MPI_PROC_NULL too */
    const int *sources, *destinations;
    const int *in_number, *out_number;
    /* routes.h: for Neighbor_allgather(v) and for Neighbor_alltoall(v); NULL: not made yet */
    struct pl_routes *routes[2];
};

/* The numbers of places; local. False where comm has no topology. */
bool pl_degrees(MPI_Comm comm, int *in, int *out);

/* Made by the first call, which is collective. Which edge arrives in which place, where several
 * have the same ends, is what the library's own MPI_Neighbor_alltoall does. Returns MPI_SUCCESS or
 * an error that was raised. */
int pl_neighbors(const struct pl_call *call, struct pl_neighbors **neighbors);

/* Gives comm a topology of Plumbline's own, in which edges with the same ends arrive in order. For
 * SimGrid, which has no graphs. */
int pl_neighbors_give(MPI_Comm comm, int in, const int *sources, int out, const int *destinations);

/* One message for each edge, all at once, in the datatypes of the call. */
int pl_neighbors_direct(const struct pl_call *call);
/* Blocks of at most values[0] bytes that go to another node are combined; see node_aware.c. */
int pl_neighbors_node_aware(const struct pl_call *call);

/* Messages between ranks: the edges for which `only` is true, or all edges. Adds the requests to
 * `requests` from *open on. An edge without bytes has no message. */
typedef bool pl_is_direct(const void *context, int other, long long bytes);
int pl_neighbors_begin(const struct pl_call *call, const struct pl_neighbors *neighbors,
                       MPI_Comm peers, pl_is_direct *only, const void *context,
                       MPI_Request *requests, int *open);

/* Bytes of a block; more than INT_MAX is possible. */
static inline long long pl_bytes_in(const struct pl_block *block)
{
    const int size = block->count > 0 ? pl_size_of(block->type) : 0;
    return (long long)block->count * size;
}

void pl_routes_free(struct pl_routes *routes);

#endif
