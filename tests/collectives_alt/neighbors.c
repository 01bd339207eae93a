/* Neighbourhood collectives against the library's own: on Cartesian topologies, graphs, stencils,
 * random graphs and the graph of a sparse matrix; and how many messages go from node to node.
 *
 * usage: neighbors MATRIX [NODE …]   the node of each rank, a letter each; else the machine's own
 * Without libplumbline.so it calls the variants. With it (`neighbors MATRIX call`) it calls MPI_X
 * and compares with PMPI_X. */
#include "draw.h"
#include "graphs.h"
#include "tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 32, RANDOM = 40, GUARD = 64, MOST_ELEMENTS = 700, TAG_STEP = 54 };

static int rank, p, failures, calls;
static int node[RANKS];
static bool pretended, as_application;
static long crossed, stepped; /* messages to another node; those of the second step */

int __real_PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out);
int __wrap_PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out);

int __wrap_PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
    if (!pretended || type != MPI_COMM_TYPE_SHARED)
        return __real_PMPI_Comm_split_type(comm, type, key, info, out);
    return PMPI_Comm_split(comm, node[rank], key, out);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    crossed += node[rank] != node[to];
    stepped += tag == TAG_STEP + 1;
    return PMPI_Isend(buf, count, type, to, tag, comm, request);
}

static bool on_all(bool good)
{
    int all = good;
    PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

/* --- a call --- */

/* Places of one side, with their counts; elements lie in turn, with one missing between blocks. */
struct side {
    int places, *counts, *displs;
    MPI_Datatype type;
    size_t bytes; /* with guards */
    char *before, *ours, *theirs;
};

static void *need(size_t bytes)
{
    void *memory = calloc(1, bytes + 1);
    if (!memory)
        abort();
    return memory;
}

/* The last blocks lie first. */
static struct side side_of(int places, const int *counts, int equal, MPI_Datatype type,
                           struct draw *draw)
{
    struct side side = {.places = places, .type = type};
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    side.counts = need((size_t)places * sizeof(int));
    side.displs = need((size_t)places * sizeof(int));
    int end = counts ? 1 : 0;
    for (int i = places - 1; i >= 0; i--) {
        side.counts[i] = counts ? counts[i] : equal;
        side.displs[i] = end;
        end += side.counts[i] + (counts ? 1 : 0);
    }
    side.bytes = 2 * GUARD + (size_t)(end + 1) * (size_t)extent;
    side.before = need(side.bytes);
    side.ours = need(side.bytes);
    side.theirs = need(side.bytes);
    draw_fill(draw, side.before, side.bytes);
    memcpy(side.ours, side.before, side.bytes);
    memcpy(side.theirs, side.before, side.bytes);
    return side;
}

static void side_free(struct side *side)
{
    free(side->counts);
    free(side->displs);
    free(side->before);
    free(side->ours);
    free(side->theirs);
}

static struct pl_call call_of(enum pl_function function, MPI_Comm comm, const struct side *out,
                              const struct side *in, int equal, bool ours)
{
    struct pl_call call = pl_no_call;
    call.function = function;
    call.comm = comm;
    call.sendbuf = (ours ? out->ours : out->theirs) + GUARD;
    call.recvbuf = (ours ? in->ours : in->theirs) + GUARD;
    call.sendtype = out->type;
    call.recvtype = in->type;
    if (function == PL_FN_neighbor_alltoallv) {
        call.sendcounts = out->counts;
        call.sdispls = out->displs;
    } else {
        call.sendcount = out->places > 0 ? out->counts[0] : equal;
    }
    if (function == PL_FN_neighbor_alltoallv || function == PL_FN_neighbor_allgatherv) {
        call.recvcounts = in->counts;
        call.rdispls = in->displs;
    } else {
        call.recvcount = in->places > 0 ? in->counts[0] : equal;
    }
    return call;
}

static int run(const struct pl_spec *spec, const struct pl_call *call)
{
    const int rc = as_application ? pl_call_mpi(call) : pl_spec_run(spec, call);
    calls++;
    return rc;
}

/* Two calls, as the second one finds everything kept. */
static bool compare(const struct pl_spec *spec, MPI_Comm comm, const struct side *out,
                    const struct side *in, int equal)
{
    bool good = true;
    const enum pl_function function = spec->variant->function;
    const struct pl_call theirs = call_of(function, comm, out, in, equal, false);
    const struct pl_call ours = call_of(function, comm, out, in, equal, true);
    good = pl_call_pmpi(&theirs) == MPI_SUCCESS;
    for (int i = 0; i < 2; i++) {
        memcpy(in->ours, in->before, in->bytes);
        good = run(spec, &ours) == MPI_SUCCESS && good;
        good = memcmp(in->ours, in->theirs, in->bytes) == 0 && good;
        good = memcmp(out->ours, out->before, out->bytes) == 0 && good;
    }
    return good;
}

/* --- counts --- */

/* Those of a rank's edges, the same at both ends: of a graph they are its own; of Allgatherv the
 * sender has one count, which only it decides. */
static void counts_of(enum pl_function function, const struct graph *graph, int equal, int *in,
                      int *out)
{
    for (int i = 0; i < graph->in; i++)
        in[i] = function == PL_FN_neighbor_alltoallv    ? graph->in_count[i]
                : function == PL_FN_neighbor_allgatherv ? abs(graph->sources[i] * 7 + 3) % 60
                                                        : equal;
    for (int i = 0; i < graph->out; i++)
        out[i] = function == PL_FN_neighbor_alltoallv ? graph->out_count[i] : equal;
    if (function == PL_FN_neighbor_allgatherv || function == PL_FN_neighbor_allgather)
        out[0] = function == PL_FN_neighbor_allgather ? equal : (rank * 7 + 3) % 60;
}

/* An element of 12 bytes, as three numbers, or with gaps and another order in memory. */
static MPI_Datatype plain, gaps;

static void types_make(void)
{
    const int lengths[] = {1, 2};
    const MPI_Aint displs[] = {16, 4};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT};
    MPI_Datatype loose;
    MPI_Type_contiguous(3, MPI_INT, &plain);
    MPI_Type_create_struct(2, lengths, displs, types, &loose);
    MPI_Type_create_resized(loose, 0, 24, &gaps);
    MPI_Type_free(&loose);
    MPI_Type_commit(&plain);
    MPI_Type_commit(&gaps);
}

static bool check_types(const struct pl_spec *spec, MPI_Comm comm, const struct graph *graph,
                        int equal, struct draw *draw)
{
    const MPI_Datatype types[][2] = {{MPI_INT, MPI_INT}, {plain, gaps}, {gaps, plain}};
    const enum pl_function function = spec->variant->function;
    const bool gathers =
        function == PL_FN_neighbor_allgather || function == PL_FN_neighbor_allgatherv;
    const bool tables =
        function == PL_FN_neighbor_alltoallv || function == PL_FN_neighbor_allgatherv;
    int *in_counts = need((size_t)graph->in * sizeof(int));
    int *out_counts = need(((size_t)graph->out + 1) * sizeof(int));
    counts_of(function, graph, equal, in_counts, out_counts);
    bool good = true;
    for (int t = 0; t < 3; t++) {
        struct side out =
            side_of(gathers ? 1 : graph->out,
                    function == PL_FN_neighbor_alltoallv || gathers ? out_counts : NULL, equal,
                    types[t][0], draw);
        struct side in = side_of(graph->in, tables ? in_counts : NULL, equal, types[t][1], draw);
        good = compare(spec, comm, &out, &in, equal) && good;
        side_free(&out);
        side_free(&in);
    }
    free(in_counts);
    free(out_counts);
    return good;
}

/* How many ordered pairs of nodes have an edge between them: so many messages of the second step
 * there are. */
static long pairs_of(const struct graph *graph)
{
    static char has[RANKS * RANKS];
    long pairs = 0;
    memset(has, 0, sizeof has);
    for (int i = 0; i < graph->out; i++)
        if (graph->destinations[i] != MPI_PROC_NULL) {
            int first[2] = {0, 0};
            while (node[first[0]] != node[rank])
                first[0]++;
            while (node[first[1]] != node[graph->destinations[i]])
                first[1]++;
            has[first[0] * RANKS + first[1]] = first[0] != first[1];
        }
    PMPI_Allreduce(MPI_IN_PLACE, has, sizeof has, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof has; i++)
        pairs += has[i];
    return pairs;
}

static bool several_on_a_node(void)
{
    int nodes = 0;
    for (int i = 0; i < p; i++) {
        int first = 0;
        while (node[first] != node[i])
            first++;
        nodes += first == i;
    }
    return nodes > 1 && nodes < p;
}

/* Short blocks alone: nothing but the messages of the second step leaves a node. */
static bool check_messages(const struct pl_spec *spec, MPI_Comm comm, const struct graph *graph,
                           struct draw *draw)
{
    crossed = stepped = 0;
    bool good = check_types(spec, comm, graph, 5, draw);
    long all[2] = {crossed, stepped};
    PMPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return good && all[0] == all[1] && all[1] == 6 * pairs_of(graph); /* 3 types, 2 calls each */
}

static void check(const char *what, MPI_Comm comm, const struct graph *graph)
{
    static const char *const texts[] = {"linear", "node_aware", "node_aware:combined_bytes=1",
                                        "node_aware:combined_bytes=100",
                                        "node_aware:combined_bytes=2000000000"};
    struct draw draw = draw_from(43, 3, (unsigned)rank);
    const int first = PL_FN_neighbor_allgather;
    for (int f = first; f < PL_FUNCTION_COUNT; f++) {
        const char *const name = pl_function_name((enum pl_function)f);
        for (size_t i = 0; i < (as_application ? 1 : sizeof texts / sizeof *texts); i++) {
            char text[80], why[100];
            struct pl_spec spec;
            snprintf(text, sizeof text, "n%s_%s", name + strlen("MPI_N"), texts[i]);
            if (!pl_spec_parse(text, &spec, why, sizeof why))
                MPI_Abort(MPI_COMM_WORLD, 3);
            bool good = true;
            for (int equal = 0; equal < 4; equal++)
                good = check_types(&spec, comm, graph, equal * equal * equal, &draw) && good;
            if (i == 1 && several_on_a_node() && f != PL_FN_neighbor_alltoallv)
                good = check_messages(&spec, comm, graph, &draw) && good;
            good = on_all(good);
            failures += !good;
            if (rank == 0 && !good)
                printf("not ok %s: %s\n", what, text);
        }
    }
}

/* --- topologies --- */

static void check_graph(const char *what, struct graph graph)
{
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, graph.in, graph.sources, graph.in_count,
                                   graph.out, graph.destinations, graph.out_count, MPI_INFO_NULL, 0,
                                   &comm);
    check(what, comm, &graph);
    MPI_Comm_free(&comm);
    graph_free(&graph);
}

static void check_cart(const char *what, int dimensions, const int *dims, const int *periods)
{
    MPI_Comm comm;
    int ranks[6] = {0};
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &comm);
    for (int d = 0; d < dimensions; d++)
        MPI_Cart_shift(comm, d, 1, &ranks[2 * d], &ranks[2 * d + 1]);
    struct graph graph = graph_both_ways(2 * dimensions, ranks, 11);
    check(what, comm, &graph);
    graph_free(&graph);
    MPI_Comm_free(&comm);
}

static void check_carts(void)
{
    const int line[1] = {p}, yes[3] = {1, 1, 1}, no[3] = {0, 0, 0}, some[3] = {1, 0, 1};
    const int flat[2] = {p, 1};
    int square[2] = {0, 0}, cube[3] = {0, 0, 0};
    MPI_Dims_create(p, 2, square);
    MPI_Dims_create(p, 3, cube);
    check_cart("ring", 1, line, yes);
    check_cart("line", 1, line, no);
    check_cart("flat torus", 2, flat, yes);
    check_cart("torus", 2, square, yes);
    check_cart("grid", 2, square, no);
    check_cart("mixed grid", 3, cube, some);
}

/* A star: all ranks with rank 0. */
static void check_star(void)
{
    MPI_Comm comm;
    int ends[RANKS], edges[2 * RANKS];
    for (int i = 0; i < p; i++) {
        ends[i] = p - 1 + i;
        edges[i] = i < p - 1 ? i + 1 : 0;
        edges[p - 1 + i] = 0;
    }
    MPI_Graph_create(MPI_COMM_WORLD, p, ends, edges, 0, &comm);
    struct graph graph =
        graph_both_ways(rank == 0 ? p - 1 : 1, rank == 0 ? edges : edges + p - 1, 11);
    check("star", comm, &graph);
    graph_free(&graph);
    MPI_Comm_free(&comm);
}

/* --- calls that are not legal --- */

static const char *const wrongs[] = {"no topology", "negative count", "no type sent",
                                     "no type received", "sent in place"};

/* The same error class with and without libplumbline.so, and nothing hangs. */
static void check_wrong(enum pl_function function, size_t wrong)
{
    const int ring[] = {(rank + 1) % p, (rank + p - 1) % p}, weights[] = {1, 1};
    int counts[] = {1, wrong == 1 ? -1 : 1}, displs[] = {0, 1}, from[2] = {0, 0}, to[2], class[2];
    MPI_Comm comm;
    if (wrong == 0)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, ring, weights, 2, ring, weights,
                                       MPI_INFO_NULL, 0, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    struct pl_call call = {.function = function,
                           .comm = comm,
                           .sendbuf = wrong == 4 ? MPI_IN_PLACE : from,
                           .recvbuf = to,
                           .sendcount = counts[1],
                           .recvcount = counts[1],
                           .sendcounts = counts,
                           .recvcounts = counts,
                           .sdispls = displs,
                           .rdispls = displs,
                           .sendtype = wrong == 2 ? MPI_DATATYPE_NULL : MPI_INT,
                           .recvtype = wrong == 3 ? MPI_DATATYPE_NULL : MPI_INT};
    MPI_Error_class(pl_call_mpi(&call), &class[0]);
    MPI_Error_class(pl_call_pmpi(&call), &class[1]);
    const bool good = on_all(class[0] == class[1] && class[0] != MPI_SUCCESS);
    failures += !good;
    if (rank == 0 && !good)
        printf("not ok %s: %s: %d, %d\n", pl_function_name(function), wrongs[wrong], class[0],
               class[1]);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    as_application = argc > 2 && strcmp(argv[2], "call") == 0;
    pretended = argc > 2 && !as_application;
    if (p > RANKS || argc < 2 || (pretended && argc < p + 2))
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < p; i++)
        node[i] = pretended ? argv[i + 2][0] : 'a';
    types_make();
    check_carts();
    check_star();
    check_graph("5 points", graph_stencil(5, 9, p, rank));
    check_graph("7 points", graph_stencil(7, 9, p, rank));
    check_graph("27 points", graph_stencil(27, 9, p, rank));
    check_graph("matrix", graph_matrix(argv[1], p, rank));
    for (unsigned seed = 0; seed < RANDOM; seed++) {
        char what[32];
        snprintf(what, sizeof what, "random graph %u", seed);
        check_graph(what, graph_random(seed, p, rank));
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* gets some of them */
    for (int f = PL_FN_neighbor_allgather; f < PL_FUNCTION_COUNT && as_application; f++)
        for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
            check_wrong((enum pl_function)f, i);
    MPI_Type_free(&plain);
    MPI_Type_free(&gaps);
    if (rank == 0)
        printf("%s %d calls\n", failures ? "not ok" : "ok", calls);
    MPI_Finalize();
    return failures > 0;
}
