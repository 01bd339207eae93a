/* Calls without a message: of all ranks together, which make a communicator, and of each for
 * itself. What was made is given back outside the timed region. */
#include "pattern/pattern.h"

const struct pl_pattern pl_pattern_simple = {
    .name = "simple",
    .summary = "a call without data, of all ranks together or of each for itself",
    .least_ranks = 1,
};

static MPI_Comm made = MPI_COMM_NULL;

static void give_back(void)
{
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
}

static int comm_dup(const struct pl_call *call)
{
    return MPI_Comm_dup(call->comm, &made);
}

/* Into two halves of ranks in turn: even and odd ones. */
static int comm_split(const struct pl_call *call)
{
    int rank;
    MPI_Comm_rank(call->comm, &rank);
    return MPI_Comm_split(call->comm, rank % 2, rank, &made);
}

static int comm_create(const struct pl_call *call)
{
    MPI_Group all;
    int rc;
    PL_TRY(MPI_Comm_group(call->comm, &all));
    rc = MPI_Comm_create(call->comm, all, &made);
    MPI_Group_free(&all);
out:
    return rc;
}

/* A ring of all ranks. */
static int cart_create(const struct pl_call *call)
{
    const int periodic = 1;
    int nprocs;
    MPI_Comm_size(call->comm, &nprocs);
    return MPI_Cart_create(call->comm, 1, &nprocs, &periodic, 0, &made);
}

static int iprobe_nothing(const struct pl_call *call)
{
    int there;
    return MPI_Iprobe(MPI_ANY_SOURCE, PL_PATTERN_TAG, call->comm, &there, MPI_STATUS_IGNORE);
}

static volatile double seen;

static int wtime(const struct pl_call *call)
{
    (void)call;
    seen = MPI_Wtime();
    return MPI_SUCCESS;
}

#define PL_SIMPLE(symbol, text, ...)                                                               \
    const struct pl_operation pl_operation_##symbol = {.name = #symbol,                            \
                                                       .pattern = &pl_pattern_simple,              \
                                                       .summary = text,                            \
                                                       .run = symbol,                              \
                                                       __VA_ARGS__};

PL_SIMPLE(comm_dup, "MPI_Comm_dup", .after = give_back)
PL_SIMPLE(comm_split, "MPI_Comm_split into even and odd ranks", .after = give_back)
PL_SIMPLE(comm_create, "MPI_Comm_group and MPI_Comm_create of all ranks", .after = give_back)
PL_SIMPLE(cart_create, "MPI_Cart_create of a ring", .after = give_back)
PL_SIMPLE(iprobe_nothing, "MPI_Iprobe where there is no message", )
PL_SIMPLE(wtime, "MPI_Wtime", )
