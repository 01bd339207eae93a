/* A plain MPI program, which knows nothing of Plumbline: what a preload library must not disturb.
 * Prints one hash over all results. usage: application [thread|unseen|all]
 * `unseen` starts MPI behind the back of everything that wraps MPI_Init; `all` calls every
 * collective, with more than one root and datatype. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 1000, MOST = 64 };

static unsigned long long hash = 14695981039346656037ULL;

static void add(const void *memory, size_t bytes)
{
    for (const unsigned char *at = memory; bytes > 0; bytes--)
        hash = (hash ^ *at++) * 1099511628211ULL;
}

/* Keeps the left operand: associative, not commutative. */
static void left(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    memcpy(inout, in, (size_t)*count * sizeof(int));
}

static void world(int rank, int p)
{
    int mine[COUNT], sum[COUNT], blocks[MOST * 10];
    for (int i = 0; i < COUNT; i++)
        mine[i] = rank * COUNT + i;
    for (int n = 1; n <= COUNT; n *= 10) {
        MPI_Allreduce(mine, sum, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        add(sum, (size_t)n * sizeof sum[0]);
    }
    MPI_Op op;
    MPI_Op_create(left, 0, &op);
    MPI_Reduce(mine, sum, COUNT, MPI_INT, op, 0, MPI_COMM_WORLD);
    add(sum, sizeof sum);
    MPI_Op_free(&op);

    /* The root sends in place, the others pass no receive arguments. */
    memcpy(blocks, mine, 10 * sizeof mine[0]);
    if (rank == 0)
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, 10, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Gather(mine, 10, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    if (rank == 0)
        add(blocks, (size_t)p * 10 * sizeof blocks[0]);
    MPI_Bcast(mine, COUNT, MPI_INT, p - 1, MPI_COMM_WORLD);
    add(mine, sizeof mine);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Even and odd ranks, joined by an inter-communicator; then half of the ranks alone. */
static void parts(int rank)
{
    MPI_Comm half, both;
    int value = rank + 1, sum = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, both);
    add(&sum, sizeof sum);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, half);
    add(&sum, sizeof sum);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* Blocks of rank + 1 elements, one after the other. */
static void uneven(const int *mine, int root, int rank, int p)
{
    int counts[MOST], displs[MOST], blocks[MOST * MOST], out[MOST * MOST] = {0};
    for (int i = 0; i < p; i++) {
        counts[i] = i + 1;
        displs[i] = i * (i + 1) / 2;
    }
    const size_t all = (size_t)(p * (p + 1) / 2) * sizeof out[0];
    MPI_Gatherv(mine, rank + 1, MPI_INT, out, counts, displs, MPI_INT, root, MPI_COMM_WORLD);
    add(out, all);
    MPI_Allgatherv(mine, rank + 1, MPI_INT, blocks, counts, displs, MPI_INT, MPI_COMM_WORLD);
    add(blocks, all);
    MPI_Scatterv(blocks, counts, displs, MPI_INT, out, rank + 1, MPI_INT, root, MPI_COMM_WORLD);
    add(out, (size_t)(rank + 1) * sizeof out[0]);
    MPI_Reduce_scatter(mine, out, counts, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    add(out, (size_t)(rank + 1) * sizeof out[0]);

    /* i sends min(i, j) + 1 elements to j */
    int sends[MOST], places[MOST];
    for (int i = 0; i < p; i++) {
        sends[i] = (i < rank ? i : rank) + 1;
        places[i] = i * p;
    }
    memset(out, 0, sizeof out);
    MPI_Alltoallv(mine, sends, places, MPI_INT, out, sends, places, MPI_INT, MPI_COMM_WORLD);
    add(out, (size_t)(p * p) * sizeof out[0]);
}

static void equal(const int *mine, int root, int rank, int p)
{
    enum { BLOCK = 7 };
    int all[MOST * BLOCK], out[MOST * BLOCK] = {0}, sum[COUNT];
    MPI_Gather(mine, BLOCK, MPI_INT, out, BLOCK, MPI_INT, root, MPI_COMM_WORLD);
    add(out, (size_t)(p * BLOCK) * sizeof out[0]);
    MPI_Allgather(mine, BLOCK, MPI_INT, all, BLOCK, MPI_INT, MPI_COMM_WORLD);
    MPI_Scatter(all, BLOCK, MPI_INT, out, BLOCK, MPI_INT, root, MPI_COMM_WORLD);
    add(out, BLOCK * sizeof out[0]);
    MPI_Alltoall(mine, BLOCK, MPI_INT, out, BLOCK, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, all, BLOCK, MPI_INT, MPI_COMM_WORLD);
    add(out, (size_t)(p * BLOCK) * sizeof out[0]);
    add(all, (size_t)(p * BLOCK) * sizeof all[0]);
    MPI_Reduce_scatter_block(mine, out, BLOCK, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    add(out, BLOCK * sizeof out[0]);
    MPI_Scan(mine, sum, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    add(sum, sizeof sum);
    MPI_Exscan(mine, sum, COUNT, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
    if (rank > 0)
        add(sum, sizeof sum);

    /* every second element, and a pair */
    MPI_Datatype column;
    MPI_Type_vector(BLOCK, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    memcpy(sum, mine, sizeof sum);
    MPI_Bcast(sum, 3, column, root, MPI_COMM_WORLD);
    add(sum, sizeof sum);
    MPI_Type_free(&column);
    MPI_Reduce(mine, sum, BLOCK, MPI_2INT, MPI_MAXLOC, root, MPI_COMM_WORLD);
    if (rank == root)
        add(sum, 2 * BLOCK * sizeof sum[0]);
    MPI_Allreduce(mine, sum, BLOCK, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    add(sum, 2 * BLOCK * sizeof sum[0]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void everything(int rank, int p)
{
    int mine[COUNT];
    for (int i = 0; i < COUNT; i++)
        mine[i] = (rank + 1) * (i + 3) % 1009;
    for (int root = 0; root<p; root += p - 1> 0 ? p - 1 : 1) {
        equal(mine, root, rank, p);
        uneven(mine, root, rank, p);
    }
}

int main(int argc, char **argv)
{
    int rank, p, provided;
    if (argc > 1 && strcmp(argv[1], "thread") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else if (argc > 1 && strcmp(argv[1], "unseen") == 0)
        PMPI_Init(&argc, &argv);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    world(rank, p);
    parts(rank);
    if (argc > 1 && strcmp(argv[1], "all") == 0)
        everything(rank, p);
    unsigned long long all = 0;
    MPI_Reduce(&hash, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%016llx\n", all);
    MPI_Finalize();
    return 0;
}
