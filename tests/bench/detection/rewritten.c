/* Programs of one loop each, as people write them and with MPI's own collective: what is saved is
 * what `plumbline detect --replay` is to have said before (predictions.py).
 *
 *     rewritten PATTERN hand|library BYTES TIMES COMPUTE_NS
 *
 * COMPUTE_NS: what each rank computes between calls. Prints the seconds of the loop. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, size;
static char *data, *all, *other;

static void send(const void *from, int bytes, int to)
{
    MPI_Send(from, bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD);
}

static void receive(void *into, int bytes, int from)
{
    MPI_Recv(into, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void bcast_linear(int bytes)
{
    for (int rank = 1; me == 0 && rank < size; rank++)
        send(data, bytes, rank);
    if (me)
        receive(data, bytes, 0);
}

static void bcast_chain(int bytes)
{
    if (me)
        receive(data, bytes, me - 1);
    if (me + 1 < size)
        send(data, bytes, me + 1);
}

static void bcast(int bytes)
{
    MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void gather_linear(int bytes)
{
    if (me)
        send(data, bytes, 0);
    for (int rank = 1; me == 0 && rank < size; rank++)
        receive(all + (size_t)rank * bytes, bytes, rank);
    if (me == 0)
        memcpy(all, data, bytes);
}

static void gather(int bytes)
{
    MPI_Gather(data, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void allreduce_linear(int bytes)
{
    const int count = bytes / (int)sizeof(double);
    double *sum = (void *)all, *term = (void *)other;
    memcpy(sum, data, bytes);
    for (int rank = 1; me == 0 && rank < size; rank++) {
        MPI_Recv(term, count, MPI_DOUBLE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < count; i++)
            sum[i] += term[i];
    }
    if (me)
        MPI_Send(data, count, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    for (int rank = 1; me == 0 && rank < size; rank++)
        MPI_Send(sum, count, MPI_DOUBLE, rank, 2, MPI_COMM_WORLD);
    if (me)
        MPI_Recv(sum, count, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void allreduce(int bytes)
{
    MPI_Allreduce(data, all, bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather_ring(int bytes)
{
    const int next = (me + 1) % size, last = (me + size - 1) % size;
    memcpy(all + (size_t)me * bytes, data, bytes);
    for (int step = 0; step < size - 1; step++) {
        const int give = (me - step + size) % size, get = (me - step - 1 + size) % size;
        MPI_Sendrecv(all + (size_t)give * bytes, bytes, MPI_BYTE, next, 1,
                     all + (size_t)get * bytes, bytes, MPI_BYTE, last, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

static void allgather(int bytes)
{
    MPI_Allgather(data, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall_nonblocking(int bytes)
{
    MPI_Request requests[64];
    int count = 0;
    for (int rank = 0; rank < size; rank++)
        if (rank != me)
            MPI_Irecv(all + (size_t)rank * bytes, bytes, MPI_BYTE, rank, 1, MPI_COMM_WORLD,
                      &requests[count++]);
    for (int rank = 0; rank < size; rank++)
        if (rank != me)
            MPI_Isend(data + (size_t)rank * bytes, bytes, MPI_BYTE, rank, 1, MPI_COMM_WORLD,
                      &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    memcpy(all + (size_t)me * bytes, data + (size_t)me * bytes, bytes);
}

static void alltoall(int bytes)
{
    MPI_Alltoall(data, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void barrier_central(int bytes)
{
    (void)bytes;
    for (int rank = 1; me == 0 && rank < size; rank++)
        receive(NULL, 0, rank);
    if (me)
        send(NULL, 0, 0);
    for (int rank = 1; me == 0 && rank < size; rank++)
        send(NULL, 0, rank);
    if (me)
        receive(NULL, 0, 0);
}

static void barrier(int bytes)
{
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct pattern {
    const char *name;
    void (*by_hand)(int bytes), (*library)(int bytes);
} patterns[] = {
    {"bcast_linear", bcast_linear, bcast},
    {"bcast_chain", bcast_chain, bcast},
    {"gather_linear", gather_linear, gather},
    {"allreduce_linear", allreduce_linear, allreduce},
    {"allgather_ring", allgather_ring, allgather},
    {"alltoall_nonblocking", alltoall_nonblocking, alltoall},
    {"barrier_central", barrier_central, barrier},
};

/* New contents, so that no time is like the one before it; and some work. */
static void compute(int time, int bytes, double seconds)
{
    const double begin = MPI_Wtime();
    uint64_t state = ((uint64_t)me << 48) ^ ((uint64_t)(time + 32) << 24);
    for (int i = 0; i + (int)sizeof(double) <= bytes * size; i += (int)sizeof(double)) {
        state = (state + 1) * UINT64_C(6364136223846793005);
        const double value = 1.0 + (double)(state >> 12) / (double)(UINT64_C(1) << 52);
        memcpy(data + i, &value, sizeof value);
    }
    while (MPI_Wtime() - begin < seconds)
        ;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const struct pattern *pattern = NULL;
    for (size_t i = 0; argc == 6 && i < sizeof patterns / sizeof *patterns; i++)
        if (strcmp(patterns[i].name, argv[1]) == 0)
            pattern = &patterns[i];
    if (!pattern || size > 32)
        MPI_Abort(MPI_COMM_WORLD, 2);
    void (*call)(int) = strcmp(argv[2], "library") == 0 ? pattern->library : pattern->by_hand;
    const int bytes = atoi(argv[3]), times = atoi(argv[4]);
    const double seconds = atof(argv[5]) / 1e9;
    data = calloc(size + 1, bytes + 8);
    all = calloc(size + 1, bytes + 8);
    other = calloc(1, bytes + 8);
    double begin = 0;
    for (int time = -20; time < times; time++) {
        if (time == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            begin = MPI_Wtime();
        }
        compute(time, bytes, seconds);
        call(bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        printf("took %.9f\n", MPI_Wtime() - begin);
    MPI_Finalize();
    return 0;
}
