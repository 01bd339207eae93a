/* A plain MPI program, which knows nothing of Plumbline: what a preload library must not disturb.
 * Prints one hash over all results. usage: application [thread|unseen]
 * `unseen` starts MPI behind the back of everything that wraps MPI_Init. */
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
    unsigned long long all = 0;
    MPI_Reduce(&hash, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%016llx\n", all);
    MPI_Finalize();
    return 0;
}
