/* Times neighbourhood collectives: neighbors FUNCTION GRAPH BYTES SPEC …
 *
 * GRAPH is 5, 7 or 27 (a stencil of so many points), or a file that has a matrix; BYTES are those
 * of an element, of which a stencil has one for each edge. SPEC is a variant with its parameters,
 * or `default`. Prints a line for each: microseconds of a call among CALLS that follow each other,
 * on the slowest rank. In a simulation, where there are no graphs, Plumbline is told the
 * neighbours. */
#include "neighbors.h"
#include "graphs.h"

#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 20 };

static MPI_Comm communicator(const struct graph *graph)
{
    MPI_Comm comm;
#ifdef SMPI_H
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    pl_neighbors_give(comm, graph->in, graph->sources, graph->out, graph->destinations);
#else
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, graph->in, graph->sources, graph->in_count,
                                   graph->out, graph->destinations, graph->out_count, MPI_INFO_NULL,
                                   0, &comm);
#endif
    return comm;
}

/* Displacements of `places` blocks, which get `bytes` an element; returns the bytes of all. */
static int lay_out(int places, int *counts, int *displs, int bytes)
{
    int end = 0;
    for (int i = 0; i < places; i++) {
        counts[i] *= bytes;
        displs[i] = end;
        end += counts[i];
    }
    return end;
}

static void *need(int bytes)
{
    void *memory = calloc(1, (size_t)bytes + 1);
    if (!memory)
        abort();
    return memory;
}

/* Of Neighbor_allgather(v) each rank has as much for all neighbours as for the one that gets most.
 */
static struct pl_call call_of(enum pl_function function, struct graph *graph, int bytes)
{
    struct pl_call call = pl_no_call;
    int *in = need(graph->in * (int)sizeof *in), *out = need(graph->out * (int)sizeof *out),
        most = 1;
    const bool gathers =
        function == PL_FN_neighbor_allgather || function == PL_FN_neighbor_allgatherv;
    if (gathers) {
        for (int i = 0; i < graph->out; i++)
            most = graph->out_count[i] > most ? graph->out_count[i] : most;
        int p, *all;
        MPI_Comm_size(MPI_COMM_WORLD, &p);
        all = need(p * (int)sizeof *all);
        MPI_Allgather(&most, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < graph->in; i++)
            graph->in_count[i] = all[graph->sources[i]];
        free(all);
    }
    const int in_all = lay_out(graph->in, graph->in_count, in, bytes);
    const int out_all = lay_out(graph->out, graph->out_count, out, bytes);
    call.function = function;
    call.sendtype = call.recvtype = MPI_BYTE;
    call.sendbuf = need(out_all + most * bytes);
    call.recvbuf = need(in_all);
    call.sendcount = gathers ? most * bytes : bytes;
    call.recvcount = bytes;
    if (function == PL_FN_neighbor_alltoallv) {
        call.sendcounts = graph->out_count;
        call.sdispls = out;
    }
    if (function == PL_FN_neighbor_alltoallv || function == PL_FN_neighbor_allgatherv) {
        call.recvcounts = graph->in_count;
        call.rdispls = in;
    }
    return call;
}

static int once(const struct pl_spec *spec, const struct pl_call *call)
{
    return spec->variant ? pl_spec_run(spec, call) : pl_call_mpi(call);
}

static void time_spec(const char *text, const struct pl_call *call, int rank)
{
    char why[200];
    struct pl_spec spec = {NULL, {0}};
    if (strcmp(text, "default") != 0 && !pl_spec_parse(text, &spec, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double slowest = 0;
    int rc = once(&spec, call); /* prepares */
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < CALLS; i++)
        rc |= once(&spec, call);
    const double mine = (MPI_Wtime() - start) / CALLS;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rc != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 0)
        printf("%s %.3f\n", text, slowest * 1e6);
}

int main(int argc, char **argv)
{
    int p, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const enum pl_function function = argc > 4 ? pl_function_by_name(argv[1]) : PL_FUNCTION_COUNT;
    if (!pl_has_neighbors(function))
        MPI_Abort(MPI_COMM_WORLD, 1);
    const int points = atoi(argv[2]);
    struct graph graph =
        points > 0 ? graph_stencil(points, 1, p, rank) : graph_matrix(argv[2], p, rank);
    const MPI_Comm comm = communicator(&graph);
    struct pl_call call = call_of(function, &graph, atoi(argv[3]));
    call.comm = comm;
    for (int i = 4; i < argc; i++)
        time_spec(argv[i], &call, rank);
    MPI_Finalize();
    return 0;
}
