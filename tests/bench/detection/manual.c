/* Collectives made by hand, as people write them, and programs that have none:
 *     manual PATTERN [TIMES]
 * The truth about each stands in real.py beside this file. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 120, TAG = 7 };

static int me, size;

/* Numbers that no other rank has, and no other time. */
static void fill(double *data, int count)
{
    static unsigned long state;
    if (state == 0)
        state = 88172645463325252UL + 977UL * (unsigned long)me;
    for (int at = 0; at < count; ++at) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data[at] = 1.0 + (double)(state % 100000) / 1000.0;
    }
}

static double *space(int count)
{
    double *data = calloc((size_t)count, sizeof *data);
    if (data == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    fill(data, count);
    return data;
}

static void send_to(const double *data, int count, int to)
{
    MPI_Send(data, count, MPI_DOUBLE, to, TAG, MPI_COMM_WORLD);
}

static void receive(double *data, int count, int from)
{
    MPI_Recv(data, count, MPI_DOUBLE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void bcast_linear(double *data)
{
    if (me == 0)
        fill(data, COUNT);
    for (int other = 1; me == 0 && other < size; ++other)
        send_to(data, COUNT, other);
    if (me != 0)
        receive(data, COUNT, 0);
}

static void bcast_chain(double *data)
{
    if (me == 0)
        fill(data, COUNT);
    else
        receive(data, COUNT, me - 1);
    if (me + 1 < size)
        send_to(data, COUNT, me + 1);
}

static void bcast_binomial(double *data)
{
    int mask = 1;
    if (me == 0)
        fill(data, COUNT);
    for (; mask < size; mask <<= 1)
        if (me & mask) {
            receive(data, COUNT, me - mask);
            break;
        }
    for (mask >>= 1; mask > 0; mask >>= 1)
        if (me + mask < size)
            send_to(data, COUNT, me + mask);
}

static void bcast_pipelined(double *data)
{
    if (me == 0)
        fill(data, COUNT);
    for (int first = 0; first < COUNT; first += COUNT / 4) {
        if (me > 0)
            receive(data + first, COUNT / 4, me - 1);
        if (me + 1 < size)
            send_to(data + first, COUNT / 4, me + 1);
    }
}

/* COUNT is a multiple of the number of ranks here. */
static void bcast_scatter_allgather(double *data)
{
    int piece = COUNT / size, right = (me + 1) % size, left = (me + size - 1) % size;
    if (me == 0)
        fill(data, COUNT);
    for (int other = 1; me == 0 && other < size; ++other)
        send_to(data + other * piece, piece, other);
    if (me != 0)
        receive(data + me * piece, piece, 0);
    for (int step = 0; step + 1 < size; ++step)
        MPI_Sendrecv(data + (me - step + size) % size * piece, piece, MPI_DOUBLE, right, TAG,
                     data + (me - step - 1 + size) % size * piece, piece, MPI_DOUBLE, left, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void bcast_nonblocking(double *data)
{
    MPI_Request requests[64];
    if (me == 0)
        fill(data, COUNT);
    for (int other = 1; me == 0 && other < size; ++other)
        MPI_Isend(data, COUNT, MPI_DOUBLE, other, TAG, MPI_COMM_WORLD, &requests[other - 1]);
    if (me != 0)
        MPI_Irecv(data, COUNT, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, requests);
    MPI_Waitall(me == 0 ? size - 1 : 1, requests, MPI_STATUSES_IGNORE);
}

static void bcast_persistent(double *data)
{
    static MPI_Request requests[64];
    static int made;
    int number = me == 0 ? size - 1 : 1;
    if (!made && me == 0)
        for (int other = 1; other < size; ++other)
            MPI_Send_init(data, COUNT, MPI_DOUBLE, other, TAG, MPI_COMM_WORLD,
                          &requests[other - 1]);
    else if (!made)
        MPI_Recv_init(data, COUNT, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, requests);
    made = 1;
    if (me == 0)
        fill(data, COUNT);
    MPI_Startall(number, requests);
    MPI_Waitall(number, requests, MPI_STATUSES_IGNORE);
}

static void gather_linear(double *data)
{
    if (me == 0)
        for (int other = 1; other < size; ++other)
            receive(data + other * 5, 5, other);
    else
        send_to((fill(data, 5), data), 5, 0);
}

/* Whoever comes first, until all have come. */
static void gather_waitany(double *data)
{
    MPI_Request requests[64];
    if (me != 0) {
        send_to((fill(data, 5), data), 5, 0);
        return;
    }
    for (int other = 1; other < size; ++other)
        MPI_Irecv(data + other * 5, 5, MPI_DOUBLE, other, TAG, MPI_COMM_WORLD,
                  &requests[other - 1]);
    for (int left = size - 1; left > 0; --left) {
        int which;
        MPI_Waitany(size - 1, requests, &which, MPI_STATUS_IGNORE);
    }
}

static void gather_wildcard(double *data)
{
    static int time;
    int tag = ++time;
    if (me != 0) {
        fill(data, 5);
        MPI_Send(data, 5, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
        return;
    }
    for (int left = size - 1; left > 0; --left) {
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        MPI_Recv(data + status.MPI_SOURCE * 5, 5, MPI_DOUBLE, status.MPI_SOURCE, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Each rank's block is a column of a matrix of the root. */
static void gather_columns(double *data)
{
    MPI_Datatype column;
    MPI_Type_vector(6, 1, size, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    if (me == 0)
        for (int other = 1; other < size; ++other)
            MPI_Recv(data + other, 1, column, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        send_to((fill(data, 6), data), 6, 0);
    MPI_Type_free(&column);
}

static void scatter_linear(double *data)
{
    if (me != 0) {
        receive(data, 5, 0);
        return;
    }
    fill(data, 5 * size);
    for (int other = 1; other < size; ++other)
        send_to(data + other * 5, 5, other);
}

static void scatter_halving(double *data)
{
    int low = 0, high = size;
    if (me == 0)
        fill(data, 5 * size);
    while (high - low > 1) {
        int middle = (low + high + 1) / 2;
        if (me == low)
            send_to(data + middle * 5, (high - middle) * 5, middle);
        else if (me == middle)
            receive(data + middle * 5, (high - middle) * 5, low);
        *(me < middle ? &high : &low) = middle;
    }
}

static void allgather_ring(double *data)
{
    int right = (me + 1) % size, left = (me + size - 1) % size;
    fill(data + me * 5, 5);
    for (int step = 0; step + 1 < size; ++step)
        MPI_Sendrecv(data + (me - step + size) % size * 5, 5, MPI_DOUBLE, right, TAG,
                     data + (me - step - 1 + size) % size * 5, 5, MPI_DOUBLE, left, TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void allgather_bruck(double *data)
{
    fill(data, 5);
    for (int have = 1; have < size; have *= 2) {
        int more = have < size - have ? have : size - have;
        MPI_Sendrecv(data, 5 * more, MPI_DOUBLE, (me - have + size) % size, TAG, data + 5 * have,
                     5 * more, MPI_DOUBLE, (me + have) % size, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

static void alltoall_nonblocking(double *data)
{
    MPI_Request requests[64];
    int number = 0;
    fill(data, 5 * size);
    for (int other = 0; other < size; ++other)
        if (other != me)
            MPI_Irecv(data + COUNT + other * 5, 5, MPI_DOUBLE, other, TAG, MPI_COMM_WORLD,
                      &requests[number++]);
    for (int other = 0; other < size; ++other)
        if (other != me)
            MPI_Isend(data + other * 5, 5, MPI_DOUBLE, other, TAG, MPI_COMM_WORLD,
                      &requests[number++]);
    MPI_Waitall(number, requests, MPI_STATUSES_IGNORE);
}

static void alltoall_pairwise(double *data)
{
    fill(data, 5 * size);
    for (int step = 1; step < size; ++step) {
        int to = (me + step) % size, from = (me - step + size) % size;
        MPI_Sendrecv(data + to * 5, 5, MPI_DOUBLE, to, TAG, data + COUNT + from * 5, 5, MPI_DOUBLE,
                     from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void add(double *total, const double *data, int count)
{
    for (int at = 0; at < count; ++at)
        total[at] += data[at];
}

static void reduce_binomial(double *data)
{
    fill(data, 8);
    for (int mask = 1; mask < size; mask <<= 1) {
        if (me & mask) {
            send_to(data, 8, me - mask);
            return;
        }
        if (me + mask < size) {
            receive(data + COUNT, 8, me + mask);
            add(data, data + COUNT, 8);
        }
    }
}

static void allreduce_linear(double *data)
{
    fill(data, 8);
    if (me != 0) {
        send_to(data, 8, 0);
        receive(data, 8, 0);
        return;
    }
    for (int other = 1; other < size; ++other) {
        receive(data + COUNT, 8, other);
        add(data, data + COUNT, 8);
    }
    for (int other = 1; other < size; ++other)
        send_to(data, 8, other);
}

/* Powers of two alone. */
static void allreduce_doubling(double *data)
{
    fill(data, 30);
    for (int mask = 1; mask < size; mask <<= 1) {
        MPI_Sendrecv(data, 30, MPI_DOUBLE, me ^ mask, TAG, data + COUNT, 30, MPI_DOUBLE, me ^ mask,
                     TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        add(data, data + COUNT, 30);
    }
}

static void barrier_dissemination(double *data)
{
    for (int mask = 1; mask < size; mask <<= 1)
        MPI_Sendrecv(NULL, 0, MPI_BYTE, (me + mask) % size, TAG, NULL, 0, MPI_BYTE,
                     (me - mask + size) % size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    (void)data;
}

static void barrier_linear(double *data)
{
    int one = 1;
    if (me != 0) {
        MPI_Send(&one, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        MPI_Recv(&one, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int other = 1; other < size; ++other)
        MPI_Recv(&one, 1, MPI_INT, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int other = 1; other < size; ++other)
        MPI_Send(&one, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
    (void)data;
}

static void halo(double *data)
{
    int right = (me + 1) % size, left = (me + size - 1) % size;
    MPI_Sendrecv(data + 1, 1, MPI_DOUBLE, left, TAG, data + 51, 1, MPI_DOUBLE, right, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(data + 50, 1, MPI_DOUBLE, right, TAG, data, 1, MPI_DOUBLE, left, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int at = 1; at < 51; ++at)
        data[at] = (data[at - 1] + data[at + 1]) / 2;
}

static void token_ring(double *data)
{
    if (me == 0) {
        data[0] = 42;
        send_to(data, 1, 1);
        receive(data, 1, size - 1);
    } else {
        receive(data, 1, me - 1);
        send_to(data, 1, (me + 1) % size);
    }
}

static void bcast_but_one(double *data)
{
    if (me == 0)
        fill(data, COUNT);
    for (int other = 1; me == 0 && other + 1 < size; ++other)
        send_to(data, COUNT, other);
    if (me != 0 && me + 1 < size)
        receive(data, COUNT, 0);
}

static void pipeline(double *data)
{
    if (me > 0)
        receive(data, 6, me - 1);
    fill(data + 10, 6);
    if (me + 1 < size)
        send_to(data + 10, 6, me + 1);
}

static void workers(double *data)
{
    int tasks = 4 * size;
    if (me != 0) {
        for (receive(data, 3, 0); data[0] > 0; receive(data, 3, 0)) {
            fill(data + 10, 2);
            send_to(data + 10, 2, 0);
        }
        return;
    }
    for (int other = 1; other < size; ++other)
        send_to((fill(data, 3), data), 3, other);
    for (int task = 0; task < tasks; ++task) {
        MPI_Status status;
        MPI_Recv(data + 20, 2, MPI_DOUBLE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
        fill(data, 3);
        if (task >= tasks - size + 1)
            data[0] = -1;
        send_to(data, 3, status.MPI_SOURCE);
    }
}

/* What is sent is copied behind each other first, and what came is copied away. */
static void allgather_copied(double *data)
{
    double *packed = data + COUNT, *got = data + 2 * COUNT;
    fill(data, 10);
    for (int have = 1, more; have < size; have += more) {
        more = have < size - have ? have : size - have;
        memcpy(packed, data, 10 * (size_t)more * sizeof *data);
        MPI_Sendrecv(packed, 10 * more, MPI_DOUBLE, (me - have + size) % size, TAG, got, 10 * more,
                     MPI_DOUBLE, (me + have) % size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memcpy(data + 10 * have, got, 10 * (size_t)more * sizeof *data);
    }
}

/* A block for the rank `at` further lies at 10 * at. */
static void alltoall_bruck(double *data)
{
    double *packed = data + COUNT, *got = data + 2 * COUNT;
    fill(data, 10 * size);
    for (int bit = 1; bit < size; bit <<= 1) {
        int count = 0;
        for (int at = 0; at < size; ++at)
            if (at & bit)
                memcpy(packed + 10 * count++, data + 10 * at, 10 * sizeof *data);
        MPI_Sendrecv(packed, 10 * count, MPI_DOUBLE, (me + bit) % size, TAG, got, 10 * count,
                     MPI_DOUBLE, (me - bit + size) % size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = size; at-- > 0;)
            if (at & bit)
                memcpy(data + 10 * at, got + 10 * --count, 10 * sizeof *data);
    }
}

static const struct pattern {
    const char *name;
    void (*run)(double *data);
} patterns[] = {
    {"bcast_linear", bcast_linear},
    {"bcast_chain", bcast_chain},
    {"bcast_binomial", bcast_binomial},
    {"bcast_pipelined", bcast_pipelined},
    {"bcast_scatter_allgather", bcast_scatter_allgather},
    {"bcast_nonblocking", bcast_nonblocking},
    {"bcast_persistent", bcast_persistent},
    {"gather_linear", gather_linear},
    {"gather_waitany", gather_waitany},
    {"gather_wildcard", gather_wildcard},
    {"gather_columns", gather_columns},
    {"scatter_linear", scatter_linear},
    {"scatter_halving", scatter_halving},
    {"allgather_ring", allgather_ring},
    {"allgather_bruck", allgather_bruck},
    {"allgather_copied", allgather_copied},
    {"alltoall_bruck", alltoall_bruck},
    {"alltoall_nonblocking", alltoall_nonblocking},
    {"alltoall_pairwise", alltoall_pairwise},
    {"reduce_binomial", reduce_binomial},
    {"allreduce_linear", allreduce_linear},
    {"allreduce_doubling", allreduce_doubling},
    {"barrier_dissemination", barrier_dissemination},
    {"barrier_linear", barrier_linear},
    {"halo", halo},
    {"token_ring", token_ring},
    {"bcast_but_one", bcast_but_one},
    {"pipeline", pipeline},
    {"workers", workers},
};

int main(int argc, char **argv)
{
    int times = argc > 2 ? atoi(argv[2]) : 3, known = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *data = space(3 * COUNT);
    for (size_t at = 0; argc > 1 && at < sizeof patterns / sizeof *patterns; ++at)
        if (strcmp(argv[1], patterns[at].name) == 0 || strcmp(argv[1], "all") == 0)
            for (int time = 0; ++known && time < times; ++time) {
                patterns[at].run(data);
                if (strcmp(argv[1], "all") == 0)
                    MPI_Barrier(MPI_COMM_WORLD);
            }
    free(data);
    MPI_Finalize();
    if (known == 0)
        fprintf(stderr, "no such pattern\n");
    return known == 0;
}
