/* Calls that all ranks make with the same wrong argument. Prints a line a call and rank: what the
 * error handler of its communicator was given, what was returned, and whether the communicator
 * still works. Under the preload library it must be the same. An argument: only what begins so. */
#include "variant.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 3, MOST = 16, ROOM = 1 << 16 };

static int rank, p, calls, class_seen;
static int out[MOST * COUNT], in[MOST * COUNT], out_counts[MOST], in_counts[MOST], displs[MOST];
static MPI_Datatype pair, uncommitted;
static char text[ROOM]; /* of this rank */
static int length;

static const char *const names[] = {
#define PL_FUNCTION(symbol, name) [PL_FN_##symbol] = "MPI_" #name,
#include "functions.def"
#undef PL_FUNCTION
};

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    calls++;
    MPI_Error_class(*code, &class_seen);
}

static int issue(const struct pl_call *c)
{
#define PL_THROUGH(name) MPI_##name
#include "through.inc"
#undef PL_THROUGH
}

static bool reduces(enum pl_function function)
{
    return function >= PL_FN_reduce && function != PL_FN_reduce_local;
}

static bool is_one_of(enum pl_function function, enum pl_function one, enum pl_function other)
{
    return function == one || function == other;
}

/* What every rank must look at: the send and the receive arguments. */
static bool sends(enum pl_function function)
{
    return !reduces(function) && !is_one_of(function, PL_FN_barrier, PL_FN_bcast) &&
           !is_one_of(function, PL_FN_scatter, PL_FN_scatterv);
}

static bool receives(enum pl_function function)
{
    return function != PL_FN_barrier && !is_one_of(function, PL_FN_gather, PL_FN_gatherv);
}

static bool everybody_receives(enum pl_function function)
{
    return receives(function) && !is_one_of(function, PL_FN_reduce, PL_FN_bcast) &&
           !is_one_of(function, PL_FN_scatter, PL_FN_scatterv);
}

static bool has_root(enum pl_function function)
{
    return is_one_of(function, PL_FN_gather, PL_FN_gatherv) ||
           is_one_of(function, PL_FN_scatter, PL_FN_scatterv) ||
           is_one_of(function, PL_FN_bcast, PL_FN_reduce);
}

/* --- what is wrong; false: not for this function --- */

static bool sum_of_pairs(struct pl_call *call)
{
    call->recvtype = pair;
    return reduces(call->function);
}

static bool bits_of_numbers(struct pl_call *call)
{
    call->recvtype = MPI_DOUBLE;
    call->recvcount = 1;
    call->op = MPI_BAND;
    return reduces(call->function) && call->function != PL_FN_reduce_scatter;
}

static bool no_operation(struct pl_call *call)
{
    call->op = MPI_OP_NULL;
    return reduces(call->function);
}

static bool operation_of_windows(struct pl_call *call)
{
    call->op = MPI_REPLACE;
    return reduces(call->function);
}

static bool uncommitted_sent(struct pl_call *call)
{
    call->sendtype = uncommitted;
    return sends(call->function);
}

static bool uncommitted_received(struct pl_call *call)
{
    call->recvtype = uncommitted;
#ifdef OPEN_MPI /* looks at what is sent alone */
    if (is_one_of(call->function, PL_FN_allgather, PL_FN_allgatherv) ||
        is_one_of(call->function, PL_FN_alltoall, PL_FN_alltoallv))
        return false;
#endif
    return receives(call->function);
}

static bool no_type_sent(struct pl_call *call)
{
    call->sendtype = MPI_DATATYPE_NULL;
    return sends(call->function);
}

static bool no_type_received(struct pl_call *call)
{
    call->recvtype = MPI_DATATYPE_NULL;
#ifdef MPICH_VERSION /* aborts */
    if (reduces(call->function))
        return false;
#endif
    return receives(call->function);
}

static bool negative_sent(struct pl_call *call)
{
    call->sendcount = -1;
    out_counts[p - 1] = -1;
    return sends(call->function);
}

static bool negative_received(struct pl_call *call)
{
    call->recvcount = -1;
    in_counts[p - 1] = -1;
#ifdef OPEN_MPI /* does not look, and crashes */
    if (call->function == PL_FN_allgatherv)
        return false;
#elif defined MPICH_VERSION /* the same */
    if (reduces(call->function))
        return false;
#endif
    return receives(call->function);
}

/* The sum of the counts stays. */
static bool negative_among_others(struct pl_call *call)
{
    out_counts[0] += COUNT + 1;
    in_counts[0] += COUNT + 1;
    return negative_received(call);
}

/* Open MPI looks at them in this function alone, MPICH in none. */
static bool no_tables(struct pl_call *call)
{
    call->recvcounts = NULL;
#ifdef OPEN_MPI
    return call->function == PL_FN_alltoallv;
#else
    return false;
#endif
}

static bool root_below(struct pl_call *call)
{
    call->root = -7;
    return has_root(call->function);
}

static bool root_above(struct pl_call *call)
{
    call->root = p;
    return has_root(call->function);
}

static bool received_in_place(struct pl_call *call)
{
    call->recvbuf = MPI_IN_PLACE;
#ifdef OPEN_MPI /* does not look, and crashes */
    if (call->function == PL_FN_exscan)
        return false;
#endif
    return everybody_receives(call->function);
}

static bool both_in_place(struct pl_call *call)
{
    call->sendbuf = MPI_IN_PLACE;
    return received_in_place(call);
}

/* Not refused by all libraries, but then it works as well. */
static bool sent_from_where_received(struct pl_call *call)
{
    const bool gathered = is_one_of(call->function, PL_FN_allgather, PL_FN_allgatherv);
    call->sendbuf = in + (gathered ? rank * COUNT : 0);
    return everybody_receives(call->function);
}

/* The root alone sees that its own block does not fit. */
static bool root_receives(struct pl_call *call, int count)
{
    if (rank == call->root) {
        call->recvcount = count;
        in_counts[rank] = count;
    }
    return has_root(call->function) && call->function != PL_FN_reduce &&
           call->function != PL_FN_bcast;
}

static bool root_receives_less(struct pl_call *call)
{
#ifdef OPEN_MPI /* returns before it sends, and the others wait for ever */
    if (is_one_of(call->function, PL_FN_scatter, PL_FN_scatterv))
        return false;
#endif
    return root_receives(call, 1);
}

static bool root_receives_more(struct pl_call *call)
{
    return root_receives(call, COUNT + 1);
}

static bool no_communicator(struct pl_call *call)
{
    call->comm = MPI_COMM_NULL;
#ifdef OPEN_MPI /* looks into it first */
    if (is_one_of(call->function, PL_FN_allgather, PL_FN_allgatherv))
        return false;
#endif
    return true;
}

static const struct wrong {
    const char *name;
    bool (*make)(struct pl_call *call);
} wrongs[] = {
    {"sum of pairs", sum_of_pairs},
    {"bits of numbers", bits_of_numbers},
    {"no operation", no_operation},
    {"operation of windows", operation_of_windows},
    {"uncommitted type sent", uncommitted_sent},
    {"uncommitted type received", uncommitted_received},
    {"no type sent", no_type_sent},
    {"no type received", no_type_received},
    {"negative count sent", negative_sent},
    {"negative count received", negative_received},
    {"negative count among others", negative_among_others},
    {"no tables", no_tables},
    {"root below", root_below},
    {"root above", root_above},
    {"received in place", received_in_place},
    {"both in place", both_in_place},
    {"sent from where received", sent_from_where_received},
    {"root receives less than it sends", root_receives_less},
    {"root receives more than it sends", root_receives_more},
    {"no communicator", no_communicator},
};

static void try(const struct wrong *wrong, enum pl_function function, MPI_Comm comm)
{
    struct pl_call call = {.function = function,
                           .sendbuf = out,
                           .recvbuf = in,
                           .sendcount = COUNT,
                           .recvcount = COUNT,
                           .sendcounts = out_counts,
                           .sdispls = displs,
                           .recvcounts = in_counts,
                           .rdispls = displs,
                           .sendtype = MPI_INT,
                           .recvtype = MPI_INT,
                           .op = MPI_SUM,
                           .comm = comm};
    for (int i = 0; i < p; i++) {
        in_counts[i] = out_counts[i] = COUNT;
        displs[i] = i * COUNT;
    }
    int returned = MPI_SUCCESS, one = 1, sum = 0;
    issue(&call); /* all arguments are right: nothing that is remembered may cover the wrong one */
    if (!wrong->make(&call))
        return;
    calls = class_seen = 0;
    MPI_Error_class(issue(&call), &returned);
    const int given = calls, class = class_seen;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    length += snprintf(text + length, (size_t)(ROOM - length),
                       "%d %s, %s: handler %d, class %d, returned %d, %s\n", rank, names[function],
                       wrong->name, given, class, returned, sum == p ? "works" : "broken");
}

/* Rank 0 prints for all: lines of several ranks would be mixed. */
static void print(void)
{
    if (rank > 0)
        MPI_Send(text, ROOM, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < p; i++) {
        if (i > 0)
            MPI_Recv(text, ROOM, MPI_CHAR, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        fputs(text, stdout);
    }
}

int main(int argc, char **argv)
{
    MPI_Errhandler errhandler;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler); /* for MPI_COMM_NULL */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    MPI_Type_commit(&pair);
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++)
        for (int f = 0; f < PL_FN_reduce_local; f++)
            if (argc < 2 || strncmp(wrongs[i].name, argv[1], strlen(argv[1])) == 0)
                try(&wrongs[i], (enum pl_function)f, comm);
    print();
    MPI_Type_free(&pair);
    MPI_Type_free(&uncommitted);
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
