/* Legal calls that a library of mock-ups is tempted to get wrong. The program knows nothing of
 * Plumbline and computes what it expects by itself, without MPI. Rank 0 prints "ok WHAT" or
 * "not ok WHAT" for each thing expected; the exit status is 1 if one failed.
 * usage: legal in_place|scan|gather|scatter|memory */
#include <malloc.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 64, COUNT = 1001 };

static int rank, p, failures;

static void expect(bool good, const char *what)
{
    int mine = good, all = 0;
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    failures += !all;
    if (rank == 0)
        printf("%s %s\n", all ? "ok" : "not ok", what);
}

/* What rank r sends in place i. */
static int value(int r, int i)
{
    return 1000 * r + i;
}

static void in_place(void)
{
    const int counts[] = {0, 1, p - 1, p, p + 1, 1000, COUNT};
    int data[COUNT];
    bool good = true;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (int i = 0; i < COUNT; i++)
            data[i] = value(rank, i);
        MPI_Allreduce(MPI_IN_PLACE, data, counts[c], MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            int sum = 0;
            for (int r = 0; r < p; r++)
                sum += value(r, i);
            good = good && data[i] == (i < counts[c] ? sum : value(rank, i));
        }
    }
    expect(good, "Allreduce in place");
}

/* The maps x -> a x + b modulo 10007; composing them is associative, not commutative. */
struct map {
    int a, b;
};

static struct map then(struct map first, struct map second)
{
    return (struct map){first.a * second.a % 10007, (first.b * second.a + second.b) % 10007};
}

static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct map *left = in;
    struct map *right = inout;
    (void)type;
    for (int i = 0; i < *count; i++)
        right[i] = then(left[i], right[i]);
}

static struct map map_of(int r, int i)
{
    return (struct map){2 + r + i, 3 + 5 * r + i};
}

static void scan(void)
{
    MPI_Datatype type;
    MPI_Op op;
    struct map mine[COUNT], prefix[COUNT];
    bool good = true;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(compose, 0, &op);
    for (int i = 0; i < COUNT; i++)
        mine[i] = map_of(rank, i);
    MPI_Scan(mine, prefix, COUNT, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        struct map expected = map_of(0, i);
        for (int r = 1; r <= rank; r++)
            expected = then(expected, map_of(r, i));
        good = good && prefix[i].a == expected.a && prefix[i].b == expected.b;
    }
    expect(good, "Scan of an operation that is not commutative");
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

/* Receive arguments are significant at the root alone. */
static void gather(void)
{
    int mine[10], all[10 * MOST];
    bool good = true;
    for (int i = 0; i < 10; i++)
        mine[i] = value(rank, i);
    for (int root = 0; root < p; root++) {
        memset(all, 0xff, sizeof all);
        if (rank == root)
            MPI_Gather(mine, 10, MPI_INT, all, 10, MPI_INT, root, MPI_COMM_WORLD);
        else
            MPI_Gather(mine, 10, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
        for (int i = 0; rank == root && i < 10 * p; i++)
            good = good && all[i] == value(i / 10, i % 10);
    }
    expect(good, "Gather without receive arguments");
}

/* Send arguments are significant at the root alone. */
static void scatter(void)
{
    int mine[10], all[10 * MOST];
    bool good = true;
    for (int root = 0; root < p; root++) {
        for (int i = 0; i < 10 * p; i++)
            all[i] = value(i / 10 + root, i % 10);
        memset(mine, 0xff, sizeof mine);
        if (rank == root)
            MPI_Scatter(all, 10, MPI_INT, mine, 10, MPI_INT, root, MPI_COMM_WORLD);
        else
            MPI_Scatter(NULL, -1, MPI_DATATYPE_NULL, mine, 10, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < 10; i++)
            good = good && mine[i] == value(rank + root, i);
    }
    expect(good, "Scatter without send arguments");
}

/* --- memory --- */

enum { BLOCK = 16 << 20, SMALL = 1024 }; /* bytes */

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void allow(size_t more)
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = more ? address_space() + more : limit.rlim_max;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* The derived type makes mock-ups pack: they need memory for what they send, then for what they
 * receive. */
static int allgather(const char *mine, char *all, int bytes, MPI_Datatype four, MPI_Comm comm)
{
    return MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes / 4, four, comm);
}

static bool small_call(char *mine, char *all, MPI_Datatype four, MPI_Comm comm, int round)
{
    bool good = true;
    memset(mine, 1 + rank + round, SMALL);
    memset(all, 0, (size_t)p * SMALL);
    good = allgather(mine, all, SMALL, four, comm) == MPI_SUCCESS;
    for (int i = 0; i < p * SMALL; i++)
        good = good && all[i] == 1 + i / SMALL + round;
    return good;
}

/* A call for which memory suffices halfway, then small ones; again and again. The limit leaves room
 * for one vector of p blocks the first time, and for less than one after that. */
static void memory(void)
{
    enum { ROUNDS = 20 };
    const size_t vector = (size_t)p * BLOCK;
    char *mine = calloc(1, BLOCK), *all = calloc(1, vector);
    MPI_Datatype four;
    MPI_Comm comm;
    bool refused = true, right = true;
    size_t before = allocated(), first = 0;
    if (!mine || !all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Type_contiguous(4, MPI_BYTE, &four);
    MPI_Type_commit(&four);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int round = 0; round < ROUNDS; round++) {
        int class = MPI_SUCCESS;
        allow(round == 0 ? vector + vector / 2 : vector / 2);
        MPI_Error_class(allgather(mine, all, BLOCK, four, comm), &class);
        refused = refused && class == MPI_ERR_NO_MEM;
        right = right && small_call(mine, all, four, comm, round);
        allow(0);
        if (round == 0)
            first = allocated();
    }
    expect(refused, "a call that finds no memory says so");
    expect(right, "small calls after it are right");
    expect(first > before + vector / 2, "memory sufficed halfway");
    expect(allocated() < first + (1 << 20), "calls that fail keep nothing more");
    expect(allgather(mine, all, BLOCK, four, comm) == MPI_SUCCESS, "with memory it succeeds");
    MPI_Comm_free(&comm);
    expect(allocated() < before + (1 << 20), "the communicator takes the memory along");
    MPI_Type_free(&four);
    free(mine);
    free(all);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"in_place", in_place}, {"scan", scan},     {"gather", gather},
        {"scatter", scatter},   {"memory", memory},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (argc == 2 && strcmp(argv[1], tests[i].name) == 0)
            tests[i].run();
    MPI_Finalize();
    return failures > 0;
}
