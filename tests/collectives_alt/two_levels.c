/* Hierarchical variants on nodes that one machine does not have: tables of pl_nodes, results, and
 * how many messages go from node to node.
 *
 * usage: two_levels [NODE …]   the node of each rank, a letter each; else the machine's own nodes,
 *                              told apart by MPI_Get_processor_name */
#include "tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 16, COUNT = 37 };

static int rank, p, failures, radix;
static int world_node[RANKS]; /* by rank of MPI_COMM_WORLD; equal on one node */
static int node[RANKS];       /* the same by rank of the communicator under test */
static int nodes;
static bool pretended;
static long crossed; /* messages this rank has sent to another node */

static void expect(bool good, const char *shape, const char *what)
{
    int all = good;
    PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    failures += !all;
    if (rank == 0)
        printf("%s %s: %s\n", all ? "ok" : "not ok", shape, what);
}

int __real_PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out);
int __wrap_PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out);

int __wrap_PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out)
{
    if (!pretended || type != MPI_COMM_TYPE_SHARED)
        return __real_PMPI_Comm_split_type(comm, type, key, info, out);
    return PMPI_Comm_split(comm, world_node[rank], key, out);
}

static void count_message(int to, MPI_Comm comm)
{
    int from;
    PMPI_Comm_rank(comm, &from);
    crossed += node[from] != node[to];
}

/* The private communicator has the ranks of the one under test. */
int MPI_Send(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    count_message(to, comm);
    return PMPI_Send(buf, count, type, to, tag, comm);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    count_message(to, comm);
    return PMPI_Isend(buf, count, type, to, tag, comm, request);
}

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void *in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    count_message(to, comm);
    return PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
                         comm, status);
}

/* By definition, from `node` alone. */
static bool tables_are_right(const struct pl_nodes *n)
{
    int count = 0, least = p, most = 0, place = 0;
    bool good = true, consecutive = true;
    for (int first = 0; first < p; first++) {
        int ppn = 0;
        bool new = true;
        for (int i = 0; i < first; i++)
            new = new &&node[i] != node[first];
        if (!new)
            continue;
        good = good && n->first[count] == place;
        for (int i = first; i < p; i++) {
            if (node[i] != node[first])
                continue;
            good = good && n->node_of[i] == count && n->members[place] == i;
            consecutive = consecutive && i == first + ppn;
            place++;
            ppn++;
        }
        least = ppn < least ? ppn : least;
        most = ppn > most ? ppn : most;
        count++;
    }
    nodes = count;
    return good && n->count == count && n->first[count] == p && n->least_ppn == least &&
           n->most_ppn == most && n->consecutive == consecutive &&
           n->in_order == (consecutive && least == most);
}

static int log2_down(int n)
{
    int log = 0;
    while (n >> (log + 1))
        log++;
    return log;
}

/* What the heads of the variants promise to send between nodes, from all ranks together. */
static long promised(enum pl_function function)
{
    const int log = log2_down(nodes), folded = nodes - (1 << log);
    switch (function) {
    case PL_FN_allreduce:
        return (long)(nodes - folded) * log + 2L * folded;
    case PL_FN_allgather:
        return (long)nodes * (nodes - 1);
    case PL_FN_barrier:
        return (long)nodes * (log + (folded > 0));
    default:
        return nodes - 1;
    }
}

static bool run(enum pl_function function, int root, MPI_Comm comm)
{
    char name[64];
    int me, mine[COUNT], results[2][RANKS * COUNT];
    MPI_Comm_rank(comm, &me);
    snprintf(name, sizeof name, "%s_hierarchical", pl_function_name(function) + 4);
    name[0] = (char)(name[0] | 32);
    struct pl_spec spec = pl_spec_of(pl_variant_by_name(name));
    spec.values[0] = radix;
    for (int i = 0; i < COUNT; i++)
        mine[i] = 1000 * me + i;
    for (int i = 0; i < 2; i++)
        memset(results[i], 0, sizeof results[i]);
    if (function == PL_FN_bcast && me == root)
        for (int i = 0; i < 2; i++)
            memcpy(results[i], mine, sizeof mine);
    struct pl_call call = {.function = function,
                           .sendbuf = mine,
                           .sendcount = COUNT,
                           .sendtype = MPI_INT,
                           .recvbuf = results[0],
                           .recvcount = COUNT,
                           .recvtype = MPI_INT,
                           .op = MPI_SUM,
                           .root = root,
                           .comm = comm};
    bool good = pl_call_pmpi(&call) == MPI_SUCCESS;
    call.recvbuf = results[1];
    crossed = 0;
    good = pl_spec_run(&spec, &call) == MPI_SUCCESS && good;
    long all = 0;
    PMPI_Allreduce(&crossed, &all, 1, MPI_LONG, MPI_SUM, comm);
    return good && memcmp(results[0], results[1], sizeof results[0]) == 0 &&
           all == promised(function);
}

/* Alltoall: what each leader promises is a message to every other node. */
static bool exchange(const char *name, int leaders, MPI_Comm comm)
{
    static int mine[RANKS * COUNT], results[2][RANKS * COUNT];
    const struct pl_nodes *table;
    struct pl_spec spec = pl_spec_of(pl_variant_by_name(name));
    int me;
    MPI_Comm_rank(comm, &me);
    if (leaders > 0)
        spec.values[0] = leaders;
    for (int i = 0; i < p * COUNT; i++)
        mine[i] = 100000 * me + i;
    struct pl_call call = {.function = PL_FN_alltoall,
                           .sendbuf = mine,
                           .sendcount = COUNT,
                           .sendtype = MPI_INT,
                           .recvbuf = results[0],
                           .recvcount = COUNT,
                           .recvtype = MPI_INT,
                           .comm = comm};
    bool good = pl_nodes(comm, &table) == MPI_SUCCESS && pl_call_pmpi(&call) == MPI_SUCCESS;
    const int most = table->most_ppn;
    const bool apart = leaders == 0 || leaders > most || table->least_ppn < most;
    call.recvbuf = results[1];
    crossed = 0;
    good = pl_spec_run(&spec, &call) == MPI_SUCCESS && good;
    long all = 0;
    PMPI_Allreduce(&crossed, &all, 1, MPI_LONG, MPI_SUM, comm);
    return good && memcmp(results[0], results[1], (size_t)p * COUNT * sizeof(int)) == 0 &&
           all == (nodes - 1L) * (apart ? p : nodes * leaders);
}

static void check(MPI_Comm comm, const char *shape)
{
    const enum pl_function functions[] = {PL_FN_bcast, PL_FN_reduce, PL_FN_allreduce,
                                          PL_FN_allgather, PL_FN_barrier};
    const struct pl_nodes *first = NULL, *again = NULL;
    PMPI_Allgather(&world_node[rank], 1, MPI_INT, node, 1, MPI_INT, comm);
    const bool good = pl_nodes(comm, &first) == MPI_SUCCESS;
    expect(good && tables_are_right(first), shape, "tables of nodes");
    expect(pl_nodes(comm, &again) == MPI_SUCCESS && again == first, shape, "kept");
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        const bool rooted = functions[f] == PL_FN_bcast || functions[f] == PL_FN_reduce;
        bool all = true;
        for (radix = 2; radix < 5; radix++)
            for (int root = 0; root < (rooted ? p : 1); root++)
                all = run(functions[f], root, comm) && all;
        expect(all, shape, pl_function_name(functions[f]));
    }
    bool all = true;
    for (int leaders = 1; leaders < 5; leaders++)
        all = exchange("alltoall_multileader", leaders, comm) && all;
    expect(all, shape, "alltoall_multileader");
    expect(exchange("alltoall_node_aware", 0, comm), shape, "alltoall_node_aware");
}

/* Numbers from arguments, or the first rank with the same processor name. */
static void find_nodes(int argc, char **argv)
{
    char names[RANKS][MPI_MAX_PROCESSOR_NAME] = {{0}};
    int length;
    pretended = argc > 1;
    MPI_Get_processor_name(names[rank], &length);
    PMPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, names, sizeof *names, MPI_CHAR,
                   MPI_COMM_WORLD);
    for (int i = 0; i < p; i++) {
        if (pretended && i + 1 >= argc)
            MPI_Abort(MPI_COMM_WORLD, 2);
        int same = 0;
        while (strcmp(names[same], names[i]) != 0)
            same++;
        world_node[i] = pretended ? argv[i + 1][0] : same;
    }
}

int main(int argc, char **argv)
{
    MPI_Comm reversed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    if (p > RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    find_nodes(argc, argv);
    check(MPI_COMM_WORLD, "world");
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    check(reversed, "reversed");
    MPI_Comm_free(&reversed);
    if (rank == 0)
        printf("nodes %d\n", nodes);
    MPI_Finalize();
    return failures > 0;
}
