/* What the library takes. No function of MPI says so, so it is asked by calls that move nothing, on
 * a communicator of this rank alone, whose errors return: a message to nobody for a datatype,
 * Exscan of no elements for an operation on it. An operation of the user is for any datatype.
 *
 * What it has said of predefined datatypes holds for ever and is remembered. */
#include "variant.h"

#include <pthread.h>
#include <stdatomic.h>

enum { REMEMBERED = 16 };

/* That an operation, or MPI_OP_NULL, and a predefined datatype are accepted. */
struct pair {
    MPI_Op op;
    MPI_Datatype type;
};

static PL_A_THREAD struct pair remembered[REMEMBERED];
static PL_A_THREAD unsigned next;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static MPI_Comm alone;
static atomic_bool made, ended;

static void make(void)
{
    if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &alone) != MPI_SUCCESS)
        return;
    PMPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
    made = true;
}

void pl_accept_no_more(void)
{
    if (!atomic_exchange(&ended, true) && made)
        PMPI_Comm_free(&alone);
}

static bool can_ask(void)
{
    if (!ended)
        pthread_once(&once, make);
    return made && !ended;
}

/* The datatype first: MPICH 5.0.2 aborts where an operation is on none, and looks at none of a
 * message without elements. */
static bool ask(MPI_Op op, MPI_Datatype type)
{
    char out = 0, in = 0;
    return can_ask() && PMPI_Send(&out, 1, type, MPI_PROC_NULL, 0, alone) == MPI_SUCCESS &&
           (op == MPI_OP_NULL || PMPI_Exscan(&out, &in, 0, type, op, alone) == MPI_SUCCESS);
}

static bool is_predefined(MPI_Datatype type)
{
    int integers, addresses, datatypes, combiner;
    return PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner) ==
               MPI_SUCCESS &&
           combiner == MPI_COMBINER_NAMED;
}

/* MPI_REPLACE and MPI_NO_OP are the library's too, though not for reductions. */
static bool is_of_the_user(MPI_Op op)
{
    return pl_own_op(op) == PL_OWN_OPS && op != MPI_REPLACE && op != MPI_NO_OP;
}

bool pl_accepts(MPI_Op op, MPI_Datatype type)
{
    if (op != MPI_OP_NULL && is_of_the_user(op))
        op = MPI_OP_NULL;
    for (int i = 0; i < REMEMBERED; i++)
        if (remembered[i].type == type && remembered[i].op == op)
            return !ended;
    if (!ask(op, type))
        return false;
    if (is_predefined(type))
        remembered[next++ % REMEMBERED] = (struct pair){op, type};
    return true;
}

bool pl_bears_alias_in_exscan(void)
{
    int value = 0;
    return can_ask() && PMPI_Exscan(&value, &value, 1, MPI_INT, MPI_SUM, alone) == MPI_SUCCESS;
}
