/* What a replaced call costs over its replacement, written by hand with all arrays prepared: both
 * side by side in one run, as streams of calls on two ranks under libplumbline.so, whose rules name
 * the replacements below.
 *
 * Usage: replaced bytes batches calls function. A batch is `calls` calls each way and ends with a
 * barrier. Rank 0 prints a line: the name of the function, the median of a call by hand, the median
 * of what the replaced call of the same batch takes more, both in nanoseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 64, MOST = 4096, MOST_BATCHES = 10000 };

static char from[RANKS * MOST], to[RANKS * MOST], scratch[RANKS * MOST];
static int p, rank, n;
static int blocks[RANKS], places[RANKS];  /* of n bytes, in the order of ranks */
static int zeros[RANKS], rootward[RANKS]; /* n bytes of the root */
static MPI_Comm comm = MPI_COMM_WORLD, peers;

#define BLOCK(buf) buf, n, MPI_BYTE
#define TABLE(buf) buf, blocks, places, MPI_BYTE
#define OPERANDS(count) count, MPI_BYTE, MPI_BOR
#define CASE(name, replaced, by_hand)                                                              \
    static void replaced_##name(void)                                                              \
    {                                                                                              \
        replaced;                                                                                  \
    }                                                                                              \
    static void by_hand_##name(void)                                                               \
    {                                                                                              \
        by_hand;                                                                                   \
    }

CASE(Barrier, MPI_Barrier(comm), {
    const int here = 1;
    int everywhere;
    PMPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm);
})
CASE(Bcast, MPI_Bcast(BLOCK(from), 0, comm),
     PMPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, from, rootward, zeros, MPI_BYTE, comm))
CASE(Gather, MPI_Gather(BLOCK(from), BLOCK(to), 0, comm),
     PMPI_Gatherv(BLOCK(from), TABLE(to), 0, comm))
CASE(Scatter, MPI_Scatter(BLOCK(from), BLOCK(to), 0, comm),
     PMPI_Scatterv(TABLE(from), BLOCK(to), 0, comm))
CASE(Allgather, MPI_Allgather(BLOCK(from), BLOCK(to), comm),
     PMPI_Allgatherv(BLOCK(from), TABLE(to), comm))
CASE(Alltoall, MPI_Alltoall(BLOCK(from), BLOCK(to), comm),
     PMPI_Alltoallv(TABLE(from), TABLE(to), comm))
CASE(Gatherv, MPI_Gatherv(BLOCK(from), TABLE(to), 0, comm),
     PMPI_Alltoallv(from, rootward, zeros, MPI_BYTE, to, rank ? zeros : blocks, places, MPI_BYTE,
                    comm))
CASE(Scatterv, MPI_Scatterv(TABLE(from), BLOCK(to), 0, comm),
     PMPI_Alltoallv(from, rank ? zeros : blocks, places, MPI_BYTE, to, rootward, zeros, MPI_BYTE,
                    comm))
CASE(Allgatherv, MPI_Allgatherv(BLOCK(from), TABLE(to), comm),
     PMPI_Alltoallv(from, blocks, zeros, MPI_BYTE, TABLE(to), comm))
CASE(Alltoallv, MPI_Alltoallv(TABLE(from), TABLE(to), comm), {
    MPI_Request request;
    PMPI_Ialltoallv(TABLE(from), TABLE(to), comm, &request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
})
CASE(Reduce, MPI_Reduce(from, to, OPERANDS(n), 0, comm),
     PMPI_Allreduce(from, rank ? scratch : to, OPERANDS(n), comm))
CASE(Allreduce, MPI_Allreduce(from, to, OPERANDS(n), comm), {
    PMPI_Reduce(from, to, OPERANDS(n), 0, comm);
    PMPI_Bcast(BLOCK(to), 0, comm);
})
CASE(Reduce_scatter, MPI_Reduce_scatter(from, to, OPERANDS(blocks), comm), {
    PMPI_Reduce(from, scratch, OPERANDS(p * n), 0, comm);
    PMPI_Scatterv(TABLE(scratch), BLOCK(to), 0, comm);
})
CASE(Reduce_scatter_block, MPI_Reduce_scatter_block(from, to, OPERANDS(n), comm),
     PMPI_Reduce_scatter(from, to, OPERANDS(blocks), comm))
CASE(Scan, MPI_Scan(from, to, OPERANDS(n), comm), {
    PMPI_Exscan(from, scratch, OPERANDS(n), comm);
    memcpy(to, from, (size_t)n);
    if (rank > 0)
        PMPI_Reduce_local(scratch, to, OPERANDS(n));
})
CASE(Exscan, MPI_Exscan(from, to, OPERANDS(n), comm), {
    PMPI_Scan(from, scratch, OPERANDS(n), comm);
    PMPI_Sendrecv(BLOCK(scratch), rank + 1 < p ? rank + 1 : MPI_PROC_NULL, 1, BLOCK(to),
                  rank ? rank - 1 : MPI_PROC_NULL, 1, peers, MPI_STATUS_IGNORE);
})

static const struct row {
    const char *name;
    void (*ways[2])(void);
} rows[] = {
#define ROW(name) {#name, {by_hand_##name, replaced_##name}},
    ROW(Barrier) ROW(Bcast) ROW(Gather) ROW(Scatter) ROW(Allgather) ROW(Alltoall) ROW(Gatherv)
        ROW(Scatterv) ROW(Allgatherv) ROW(Alltoallv) ROW(Reduce) ROW(Allreduce) ROW(Reduce_scatter)
            ROW(Reduce_scatter_block) ROW(Scan) ROW(Exscan)};

static void repeat(void (*way)(void), int calls)
{
    for (int i = 0; i < calls; i++)
        way();
}

/* Has a name of its own, which callgrind waits for. */
__attribute__((noinline)) void measured(void (*way)(void), int calls);
void measured(void (*way)(void), int calls)
{
    repeat(way, calls);
}

static int by_value(const void *left, const void *right)
{
    const double one = *(const double *)left, other = *(const double *)right;
    return (one > other) - (one < other);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static double batch(void (*way)(void), int calls)
{
    PMPI_Barrier(comm);
    const double start = PMPI_Wtime();
    measured(way, calls);
    PMPI_Barrier(comm);
    return 1e9 * (PMPI_Wtime() - start) / calls;
}

static void compare(const struct row *row, int batches, int calls)
{
    static double hand[MOST_BATCHES], more[MOST_BATCHES];
    repeat(row->ways[0], 10);
    repeat(row->ways[1], 10);
    for (int i = 0; i < batches; i++) {
        const int first = i % 2;
        double took[2];
        took[first] = batch(row->ways[first], calls);
        took[!first] = batch(row->ways[!first], calls);
        hand[i] = took[0];
        more[i] = took[1] - took[0];
    }
    if (rank == 0)
        printf("%s %.1f %.1f\n", row->name, median(hand, batches), median(more, batches));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_size(comm, &p);
    MPI_Comm_rank(comm, &rank);
    PMPI_Comm_dup(comm, &peers);
    n = argc > 4 ? atoi(argv[1]) : 0;
    const int batches = argc > 4 ? atoi(argv[2]) : 0, calls = argc > 4 ? atoi(argv[3]) : 0;
    if (p > RANKS || n < 0 || n > MOST || batches < 1 || batches > MOST_BATCHES || calls < 1)
        MPI_Abort(comm, 2);
    for (int i = 0; i < p; i++) {
        blocks[i] = n;
        places[i] = i * n;
    }
    rootward[0] = n;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(argv[4], rows[i].name) == 0)
            compare(&rows[i], batches, calls);
    PMPI_Comm_free(&peers);
    MPI_Finalize();
    return 0;
}
