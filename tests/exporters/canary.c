/* Says for each "function:bytes" argument whether the call succeeds on MPI_COMM_WORLD.
 *
 * `bytes` is the communication volume n of docs/plan-and-records.md, in MPI_BYTE; it must be a
 * multiple of p where blocks are equal. With algorithm 99 in a rules file, coll/tuned refuses a
 * call that the rule serves with MPI_ERR_ARG on every rank, before any message is sent: so this
 * program shows which calls a rule serves.
 *
 * One line a call on standard output of rank 0: function bytes ok|refused|error CLASS. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int p;
static char *sent, *received;
static int *counts, *offsets;

/* ceil(n/p) for the first ranks, as the probe splits */
static void split(int n)
{
    for (int i = 0, at = 0; i < p; at += counts[i++]) {
        counts[i] = n / p + (i < n % p);
        offsets[i] = at;
    }
}

static int call(const char *function, int n)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype byte = MPI_BYTE;
    int rank, block = n / p;
    MPI_Comm_rank(world, &rank);
    split(n);
    if (!strcmp(function, "MPI_Barrier"))
        return MPI_Barrier(world);
    if (!strcmp(function, "MPI_Bcast"))
        return MPI_Bcast(received, n, byte, 0, world);
    if (!strcmp(function, "MPI_Reduce"))
        return MPI_Reduce(sent, received, n, byte, MPI_BOR, 0, world);
    if (!strcmp(function, "MPI_Allreduce"))
        return MPI_Allreduce(sent, received, n, byte, MPI_BOR, world);
    if (!strcmp(function, "MPI_Scan"))
        return MPI_Scan(sent, received, n, byte, MPI_BOR, world);
    if (!strcmp(function, "MPI_Exscan"))
        return MPI_Exscan(sent, received, n, byte, MPI_BOR, world);
    if (!strcmp(function, "MPI_Gather"))
        return MPI_Gather(sent, block, byte, received, block, byte, 0, world);
    if (!strcmp(function, "MPI_Scatter"))
        return MPI_Scatter(sent, block, byte, received, block, byte, 0, world);
    if (!strcmp(function, "MPI_Allgather"))
        return MPI_Allgather(sent, block, byte, received, block, byte, world);
    if (!strcmp(function, "MPI_Allgather_in_place"))
        return MPI_Allgather(MPI_IN_PLACE, 0, byte, received, block, byte, world);
    if (!strcmp(function, "MPI_Alltoall"))
        return MPI_Alltoall(sent, block, byte, received, block, byte, world);
    if (!strcmp(function, "MPI_Alltoall_in_place"))
        return MPI_Alltoall(MPI_IN_PLACE, 0, byte, received, block, byte, world);
    if (!strcmp(function, "MPI_Reduce_scatter_block"))
        return MPI_Reduce_scatter_block(sent, received, block, byte, MPI_BOR, world);
    if (!strcmp(function, "MPI_Reduce_scatter"))
        return MPI_Reduce_scatter(sent, received, counts, byte, MPI_BOR, world);
    if (!strcmp(function, "MPI_Allgatherv"))
        return MPI_Allgatherv(sent, counts[rank], byte, received, counts, offsets, byte, world);
    if (!strcmp(function, "MPI_Alltoallv")) {
        for (int i = 0; i < p; i++) {
            counts[i] = block;
            offsets[i] = i * block;
        }
        return MPI_Alltoallv(sent, counts, offsets, byte, received, counts, offsets, byte, world);
    }
    fprintf(stderr, "canary: no function %s\n", function);
    MPI_Abort(world, 2);
    return MPI_ERR_OTHER;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    const size_t room = 1 << 22;
    sent = calloc(room, 1);
    received = calloc(room, 1);
    counts = calloc((size_t)p, sizeof *counts);
    offsets = calloc((size_t)p, sizeof *offsets);
    if (!sent || !received || !counts || !offsets)
        MPI_Abort(MPI_COMM_WORLD, 1);

    for (int i = 1; i < argc; i++) {
        char function[64];
        int bytes, class;
        if (sscanf(argv[i], "%63[^:]:%d", function, &bytes) != 2 || bytes < 0 || bytes > 1 << 20) {
            fprintf(stderr, "canary: cannot read %s\n", argv[i]);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        MPI_Error_class(call(function, bytes), &class);
        if (rank > 0)
            continue;
        if (class == MPI_SUCCESS)
            printf("%s %d ok\n", function, bytes);
        else if (class == MPI_ERR_ARG)
            printf("%s %d refused\n", function, bytes);
        else
            printf("%s %d error %d\n", function, bytes, class);
    }
    free(sent);
    free(received);
    free(counts);
    free(offsets);
    MPI_Finalize();
    return 0;
}
