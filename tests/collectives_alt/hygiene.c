/* What every variant must leave alone (receives of the application that match any message) and what
 * it must give back (communicators, when the one they are kept on is freed). Prints a line a
 * variant, "ok NAME", or what is wrong with it. */
#include "cases.h"

#include <stdio.h>

static int rank, p;
static struct area side[2];

static bool on_all(bool good)
{
    int all = good;
    PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

static bool run(const struct pl_variant *variant, MPI_Comm comm)
{
    int operations;
    struct tables tables;
    struct setting s = {.comm = comm, .count = 100, .layout = LAYOUT_INT, .root = p - 1};
    if (pl_reduces(variant->function))
        s.operation = &operations_for(LAYOUT_INT, &operations)[0];
    for (int i = 0; i < 2; i++) {
        area_fit(&side[i], variant->function, &s);
        area_fill(&side[i], &s, rank, i);
    }
    const struct pl_call call = call_for(variant->function, &s, rank, &tables, side);
    const struct pl_spec spec = pl_spec_of(variant);
    return pl_spec_run(&spec, &call) == MPI_SUCCESS;
}

static const char *leaves_wildcards_alone(const struct pl_variant *variant)
{
    int message = -1, done = 0;
    MPI_Request request;
    MPI_Irecv(&message, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    const bool good = on_all(run(variant, MPI_COMM_WORLD));
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    const bool alone = on_all(!done);
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % p, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (done) /* the message of the application is still there */
        MPI_Recv(&message, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!good)
        return "error";
    if (!alone)
        return "a receive of the application got one of its messages";
    return on_all(message == (rank + p - 1) % p) ? NULL : "the application's message is lost";
}

/* Libraries reuse the handles of freed communicators: the last one has the number of the one
 * before. A copy of a communicator starts with nothing kept. */
static const char *gives_back(const struct pl_variant *variant)
{
    enum { ROUNDS = 3 };
    MPI_Fint number[ROUNDS];
    bool good = true;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm comm, copy;
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
        good = run(variant, comm) && good;
        MPI_Comm_dup(comm, &copy);
        good = run(variant, copy) && good;
        MPI_Comm_free(&comm);
        good = run(variant, copy) && good;
        number[i] = MPI_Comm_c2f(copy);
        MPI_Comm_free(&copy);
    }
    if (!on_all(good))
        return "error on a new communicator";
    return on_all(number[ROUNDS - 1] == number[1]) ? NULL : "keeps communicators of freed ones";
}

int main(int argc, char **argv)
{
    int failures = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    layouts_make();
    for (int i = 0; i < pl_catalogue_size; i++) {
        const struct pl_variant *variant = pl_catalogue[i];
        if (!pl_is_measured(variant->function)) /* neighbors.c, alltoallw.c */
            continue;
        const char *wrong = leaves_wildcards_alone(variant);
        if (!wrong)
            wrong = gives_back(variant);
        failures += wrong != NULL;
        if (rank == 0)
            printf("%s %s%s%s\n", wrong ? "not ok" : "ok", variant->name, wrong ? ": " : "",
                   wrong ? wrong : "");
    }
    layouts_free();
    for (int i = 0; i < 2; i++)
        area_free(&side[i]);
    MPI_Finalize();
    return failures > 0;
}
