/* Collectives of one node by a shared window, written without Plumbline's sources: what its
 * variants in shared memory are compared with. Each rank has a flag, a counter of what it has read,
 * and slots of 32 KiB; a call waits for a slot, writes it, raises the flag, and reads the others'.
 *
 * Usage: shared_window function bytes batches calls. Three ways take turns in batches, as streams
 * and with a barrier of the library before each call: this program's own, MPI_, which
 * libplumbline.so may replace, and PMPI_. Rank 0 prints, in nanoseconds a call, the medians of the
 * three ways in the loop (the time of the slowest rank) and in the stream. Results are checked. */
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 32, MOST = 32768, WAYS = 3, MOST_BATCHES = 10000, LOOKS = 2000 };

struct rank {
    _Alignas(64) atomic_ulong written;
    _Alignas(64) atomic_ulong read;
    _Alignas(64) char slots[SLOTS][MOST];
};

static struct rank *ranks;
static int p, me, n;
static unsigned long call;
static MPI_Comm comm = MPI_COMM_WORLD;
static float from[MOST / sizeof(float)];
static float sums[64 * MOST / sizeof(float)];
static char *const to = (char *)sums;

static void await(atomic_ulong *counter, unsigned long value)
{
    for (int looks = 1; atomic_load_explicit(counter, memory_order_acquire) < value; looks++)
        if (looks % LOOKS == 0 || p > 2)
            sched_yield();
}

static char *slot_of(int rank)
{
    return ranks[rank].slots[call % SLOTS];
}

static void begin(void)
{
    call++;
}

static void put(const void *data, int bytes)
{
    for (int rank = 0; call > SLOTS && rank < p; rank++)
        await(&ranks[rank].read, call - SLOTS);
    memcpy(slot_of(me), data, (size_t)bytes);
    atomic_store_explicit(&ranks[me].written, call, memory_order_release);
}

static const void *get(int rank)
{
    await(&ranks[rank].written, call);
    return slot_of(rank);
}

static void end(void)
{
    atomic_store_explicit(&ranks[me].read, call, memory_order_release);
}

static void own_barrier(void)
{
    begin();
    atomic_store_explicit(&ranks[me].written, call, memory_order_release);
    for (int rank = 0; rank < p; rank++)
        get(rank);
    end();
}

static void own_bcast(void)
{
    begin();
    if (me == 0)
        put(from, n);
    else
        memcpy(from, get(0), (size_t)n);
    end();
}

static void own_allgather(void)
{
    begin();
    put(from, n / p);
    for (int rank = 0; rank < p; rank++)
        memcpy(to + rank * (n / p), get(rank), (size_t)(n / p));
    end();
}

static void own_allreduce(void)
{
    begin();
    put(from, n);
    float *sum = sums;
    memcpy(sum, get(0), (size_t)n);
    for (int rank = 1; rank < p; rank++) {
        const float *other = get(rank);
        for (int i = 0; i < n / (int)sizeof(float); i++)
            sum[i] += other[i];
    }
    end();
}

#define WAY(prefix, name)                                                                          \
    static void prefix##_barrier(void)                                                             \
    {                                                                                              \
        name##Barrier(comm);                                                                       \
    }                                                                                              \
    static void prefix##_bcast(void)                                                               \
    {                                                                                              \
        name##Bcast(from, n, MPI_BYTE, 0, comm);                                                   \
    }                                                                                              \
    static void prefix##_allgather(void)                                                           \
    {                                                                                              \
        name##Allgather(from, n / p, MPI_BYTE, to, n / p, MPI_BYTE, comm);                         \
    }                                                                                              \
    static void prefix##_allreduce(void)                                                           \
    {                                                                                              \
        name##Allreduce(from, to, n / (int)sizeof(float), MPI_FLOAT, MPI_SUM, comm);               \
    }
WAY(ours, MPI_)
WAY(library, PMPI_)

static const struct row {
    const char *name;
    void (*ways[WAYS])(void);
} rows[] = {
    {"MPI_Barrier", {own_barrier, ours_barrier, library_barrier}},
    {"MPI_Bcast", {own_bcast, ours_bcast, library_bcast}},
    {"MPI_Allgather", {own_allgather, ours_allgather, library_allgather}},
    {"MPI_Allreduce", {own_allreduce, ours_allreduce, library_allreduce}},
};

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

static double stream(void (*way)(void), int calls)
{
    PMPI_Barrier(comm);
    const double start = PMPI_Wtime();
    for (int i = 0; i < calls; i++)
        way();
    PMPI_Barrier(comm);
    return 1e9 * (PMPI_Wtime() - start) / calls;
}

static double loop(void (*way)(void), int calls)
{
    double spent = 0, slowest;
    for (int i = 0; i < calls; i++) {
        PMPI_Barrier(comm);
        const double start = PMPI_Wtime();
        way();
        spent += PMPI_Wtime() - start;
    }
    PMPI_Allreduce(&spent, &slowest, 1, MPI_DOUBLE, MPI_MAX, comm);
    return 1e9 * slowest / calls;
}

static void check(const struct row *row, int way)
{
    const int elements = n / (int)sizeof(float);
    for (int i = 0; i < elements; i++)
        from[i] = (float)(me + 1 + i % 7);
    memset(sums, 0, sizeof sums);
    row->ways[way]();
    int wrong = 0;
    const float *sum = sums;
    for (int i = 0; i < elements; i++) {
        if (strcmp(row->name, "MPI_Bcast") == 0)
            wrong += from[i] != (float)(1 + i % 7);
        if (strcmp(row->name, "MPI_Allreduce") == 0)
            wrong += sum[i] != (float)(p * (p + 1) / 2 + p * (i % 7));
    }
    for (int rank = 0; rank < p && strcmp(row->name, "MPI_Allgather") == 0; rank++)
        for (int i = 0; i < n / p / (int)sizeof(float); i++) {
            float value;
            memcpy(&value, to + rank * (n / p) + i * (int)sizeof value, sizeof value);
            wrong += value != (float)(rank + 1 + i % 7);
        }
    if (wrong)
        MPI_Abort(comm, 3);
}

static void compare(const struct row *row, int batches, int calls)
{
    static double taken[2 * WAYS][MOST_BATCHES];
    for (int way = 0; way < WAYS; way++)
        check(row, way);
    for (int i = 0; i < batches; i++)
        for (int turn = 0; turn < WAYS; turn++) {
            const int way = (i + turn) % WAYS;
            taken[way][i] = loop(row->ways[way], calls);
            taken[WAYS + way][i] = stream(row->ways[way], calls);
        }
    for (int i = 0; me == 0 && i < 2 * WAYS; i++)
        printf("%.1f%c", median(taken[i], batches), i < 2 * WAYS - 1 ? ' ' : '\n');
}

int main(int argc, char **argv)
{
    MPI_Win window;
    void *mine;
    MPI_Aint length;
    int unit;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(comm, &p);
    MPI_Comm_rank(comm, &me);
    n = argc > 4 ? atoi(argv[2]) : -1;
    const int batches = argc > 4 ? atoi(argv[3]) : 0, calls = argc > 4 ? atoi(argv[4]) : 0;
    if (p > 64 || n < 0 || n > MOST || batches < 1 || batches > MOST_BATCHES || calls < 1)
        MPI_Abort(comm, 2);
    MPI_Win_allocate_shared(me == 0 ? (MPI_Aint)(sizeof(struct rank) * (size_t)(p + 1)) : 0, 1,
                            MPI_INFO_NULL, comm, &mine, &window);
    MPI_Win_shared_query(window, 0, &length, &unit, &mine);
    ranks = (struct rank *)(((size_t)mine + 63) / 64 * 64);
    if (me == 0)
        memset(mine, 0, sizeof(struct rank) * (size_t)(p + 1));
    PMPI_Barrier(comm);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(argv[1], rows[i].name) == 0)
            compare(&rows[i], batches, calls);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
