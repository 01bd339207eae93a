/* SimGrid 3.32 jumps to NULL when MPI_Comm_call_errhandler meets a predefined handler. In builds
 * for SimGrid cflags.mk puts this function in its place. */
#undef PMPI_Comm_call_errhandler

#include <mpi.h>

int pl_simulated_call_errhandler(MPI_Comm comm, int code);

int pl_simulated_call_errhandler(MPI_Comm comm, int code)
{
    MPI_Errhandler handler;
    int rc = PMPI_Comm_get_errhandler(comm, &handler);
    if (rc != MPI_SUCCESS || handler == MPI_ERRORS_RETURN)
        return rc;
    if (handler == MPI_ERRORS_ARE_FATAL)
        return PMPI_Abort(comm, code);
    return PMPI_Comm_call_errhandler(comm, code);
}
