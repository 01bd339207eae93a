/* What variants must leave alone (receives of the application that match any message) and what they
 * must give back (communicators, when the one they are kept on is freed). */
#include "variant.h"

#include <stdbool.h>
#include <stdio.h>

static int rank, p, failures;

static void expect(bool good, const char *what)
{
    int all = good;
    PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    failures += !all;
    if (rank == 0)
        printf("%s %s\n", all ? "ok" : "not ok", what);
}

static int run(const char *name, MPI_Comm comm)
{
    enum { COUNT = 100 };
    int mine[COUNT] = {0}, all[64 * COUNT];
    const struct pl_variant *variant = pl_variant_by_name(name);
    const struct pl_call call = {.function = variant->function,
                                 .sendbuf = mine,
                                 .sendcount = COUNT,
                                 .sendtype = MPI_INT,
                                 .recvbuf = all,
                                 .recvcount = COUNT,
                                 .recvtype = MPI_INT,
                                 .op = MPI_SUM,
                                 .comm = comm};
    return variant->run(&call);
}

static void leaves_wildcards_alone(const char *name)
{
    int message = -1, done = 0;
    MPI_Request request;
    MPI_Irecv(&message, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    expect(run(name, MPI_COMM_WORLD) == MPI_SUCCESS, name);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    expect(!done, "a receive of the application saw none of its messages");
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % p, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(message == (rank + p - 1) % p, "and then its own");
}

/* Libraries reuse the handles of freed communicators: the last one has the number of the first. */
static void gives_back(void)
{
    enum { ROUNDS = 100 };
    MPI_Fint number[ROUNDS];
    bool good = true;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm comm, copy;
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
        good = good && run("gather_binomial", comm) == MPI_SUCCESS;
        MPI_Comm_dup(comm, &copy);
        good = good && run("reduce_ring", copy) == MPI_SUCCESS;
        MPI_Comm_free(&comm);
        good = good && run("reduce_ring", copy) == MPI_SUCCESS;
        number[i] = MPI_Comm_c2f(copy);
        MPI_Comm_free(&copy);
    }
    expect(good, "communicators come and go");
    expect(number[ROUNDS - 1] == number[1], "and take their private ones along");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    leaves_wildcards_alone("gather_binomial");
    leaves_wildcards_alone("reduce_ring");
    gives_back();
    MPI_Finalize();
    return failures > 0;
}
