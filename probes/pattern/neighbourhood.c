/* Neighbourhood collectives (MPI 3.1, section 7.6): each rank gives its block, or a block each, to
 * the next rank and to the one after, round a ring. So no two neighbours are the same rank from two
 * ranks on (of two, one is the rank itself), and every message has one place where it belongs. The
 * graph is made before a series of calls. */
#include "pattern/pattern.h"

#include "tools.h"

const struct pl_pattern pl_pattern_neighbourhood = {
    .name = "neighbourhood",
    .summary =
        "each rank exchanges blocks with the next two ranks of a ring, by a graph communicator",
    .least_ranks = 2,
};

static MPI_Comm graph = MPI_COMM_NULL;
static int counts[PL_NEIGHBOURS], displs[PL_NEIGHBOURS];

static int begin(const struct pl_call *call)
{
    int rank, nprocs, from[PL_NEIGHBOURS], to[PL_NEIGHBOURS], weights[PL_NEIGHBOURS];
    MPI_Comm_rank(call->comm, &rank);
    MPI_Comm_size(call->comm, &nprocs);
    for (int i = 0; i < PL_NEIGHBOURS; i++) {
        to[i] = (rank + 1 + i) % nprocs;
        from[i] = pl_neighbour(rank, i, nprocs);
        weights[i] = 1;
        counts[i] = call->recvcount;
        displs[i] = i * call->recvcount;
    }
    return MPI_Dist_graph_create_adjacent(call->comm, PL_NEIGHBOURS, from, weights, PL_NEIGHBOURS,
                                          to, weights, MPI_INFO_NULL, 0, &graph);
}

static void end(void)
{
    if (graph != MPI_COMM_NULL)
        MPI_Comm_free(&graph);
}

static int neighbor_allgather(const struct pl_call *call)
{
    return MPI_Neighbor_allgather(call->sendbuf, call->recvcount, call->recvtype, call->recvbuf,
                                  call->recvcount, call->recvtype, graph);
}

static int neighbor_allgatherv(const struct pl_call *call)
{
    return MPI_Neighbor_allgatherv(call->sendbuf, call->recvcount, call->recvtype, call->recvbuf,
                                   counts, displs, call->recvtype, graph);
}

static int neighbor_alltoall(const struct pl_call *call)
{
    return MPI_Neighbor_alltoall(call->sendbuf, call->recvcount, call->recvtype, call->recvbuf,
                                 call->recvcount, call->recvtype, graph);
}

static int neighbor_alltoallv(const struct pl_call *call)
{
    return MPI_Neighbor_alltoallv(call->sendbuf, counts, displs, call->recvtype, call->recvbuf,
                                  counts, displs, call->recvtype, graph);
}

#define PL_NEIGHBOR(symbol, text, what)                                                            \
    const struct pl_operation pl_operation_##symbol = {.name = #symbol,                            \
                                                       .pattern = &pl_pattern_neighbourhood,       \
                                                       .summary = text,                            \
                                                       .landing = what,                            \
                                                       .begin = begin,                             \
                                                       .end = end,                                 \
                                                       .run = symbol};

PL_NEIGHBOR(neighbor_allgather, "MPI_Neighbor_allgather, one block to both", PL_LANDS_SAME_BLOCKS)
PL_NEIGHBOR(neighbor_allgatherv, "MPI_Neighbor_allgatherv, the same with counts",
            PL_LANDS_SAME_BLOCKS)
PL_NEIGHBOR(neighbor_alltoall, "MPI_Neighbor_alltoall, a block each", PL_LANDS_OWN_BLOCKS)
PL_NEIGHBOR(neighbor_alltoallv, "MPI_Neighbor_alltoallv, the same with counts", PL_LANDS_OWN_BLOCKS)
