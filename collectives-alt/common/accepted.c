/* What the library takes. No function of MPI says so, so it is asked by calls that move nothing, on
 * a communicator of this rank alone, whose errors return: a message to nobody for a datatype,
 * Exscan of no elements for an operation on it. An operation of the user is for any datatype. */
#include "kept.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

PL_A_THREAD struct pl_known pl_known[PL_KNOWN];
static PL_A_THREAD unsigned next;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static MPI_Comm alone;
static atomic_bool made, ended;

/* Where there is no context id left, nothing is accepted. */
static void make(void)
{
    MPI_Errhandler handler;
    if (pl_quiet(MPI_COMM_SELF, &handler) != MPI_SUCCESS)
        return;
    const int rc = PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &alone);
    if (pl_loud(MPI_COMM_SELF, &handler, rc) != MPI_SUCCESS)
        return;
    PMPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
    made = true;
}

void pl_accept_no_more(void)
{
    memset(pl_known, 0, sizeof pl_known);
    if (!atomic_exchange(&ended, true) && made)
        PMPI_Comm_free(&alone);
}

static bool can_ask(void)
{
    if (!made && !ended)
        pthread_once(&once, make);
    return made && !ended;
}

/* MPI_REPLACE and MPI_NO_OP are the library's too, though not for reductions. */
static bool is_of_the_user(MPI_Op op)
{
    return pl_own_op(op) == PL_OWN_OPS && op != MPI_REPLACE && op != MPI_NO_OP;
}

/* The datatype first: MPICH 5.0.2 aborts where an operation is on none, and looks at none of a
 * message without elements. */
static bool takes(MPI_Op op, MPI_Datatype type)
{
    char out = 0, in = 0;
    return can_ask() && PMPI_Send(&out, 1, type, MPI_PROC_NULL, 0, alone) == MPI_SUCCESS &&
           (op == MPI_OP_NULL || is_of_the_user(op) ||
            PMPI_Exscan(&out, &in, 0, type, op, alone) == MPI_SUCCESS);
}

static bool is_predefined(MPI_Datatype type)
{
    int integers, addresses, datatypes, combiner;
    return PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner) ==
               MPI_SUCCESS &&
           combiner == MPI_COMBINER_NAMED;
}

bool pl_ask(MPI_Op op, MPI_Datatype type)
{
    int size = 0;
    MPI_Aint lb, extent = 0;
    if (!takes(op, type))
        return false;
    if (!is_predefined(type))
        return true;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_extent(type, &lb, &extent);
    if (size > 0 && extent > 0)
        pl_known[next++ % PL_KNOWN] = (struct pl_known){op, type, extent};
    return true;
}

bool pl_bears_unsent(MPI_Datatype type)
{
    char out = 0, in = 0;
    const int nothing = 0;
    return can_ask() && PMPI_Alltoallw(&out, &nothing, &nothing, &type, &in, &nothing, &nothing,
                                       &type, alone) == MPI_SUCCESS;
}

bool pl_bears_alias_in_exscan(void)
{
    int value = 0;
    return can_ask() && PMPI_Exscan(&value, &value, 1, MPI_INT, MPI_SUM, alone) == MPI_SUCCESS;
}
