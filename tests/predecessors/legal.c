/* Legal calls that a library of mock-ups is tempted to get wrong. The program knows nothing of
 * Plumbline and computes what it expects by itself, without MPI. Rank 0 prints "ok WHAT" or
 * "not ok WHAT" for each thing expected; the exit status is 1 if one failed.
 * usage: legal scatter|memory */
#include <malloc.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 64 };

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
    } tests[] = {{"scatter", scatter}, {"memory", memory}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (argc == 2 && strcmp(argv[1], tests[i].name) == 0)
            tests[i].run();
    MPI_Finalize();
    return failures > 0;
}
