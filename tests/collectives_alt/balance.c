/* Loaded before an application: counts the communicators that PMPI_Comm_split makes and
 * PMPI_Comm_free frees. Only a library in between calls either by these names. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int made, freed;

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *part)
{
    int (*next)(MPI_Comm, int, int, MPI_Comm *) = dlsym(RTLD_NEXT, "PMPI_Comm_split");
    made++;
    return next(comm, color, key, part);
}

int PMPI_Comm_free(MPI_Comm *comm)
{
    int (*next)(MPI_Comm *) = dlsym(RTLD_NEXT, "PMPI_Comm_free");
    freed++;
    return next(comm);
}

int MPI_Finalize(void)
{
    const int rc = PMPI_Finalize();
    printf("made %d freed %d\n", made, freed);
    fflush(stdout);
    return rc;
}
