/* Counts how often persistent requests are started and freed; rank 0 says it at the end. */
#include <mpi.h>
#include <stdio.h>

static int starts, frees;

int MPI_Start(MPI_Request *request)
{
    starts++;
    return PMPI_Start(request);
}

int MPI_Request_free(MPI_Request *request)
{
    frees++;
    return PMPI_Request_free(request);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "starts %d\nfrees %d\n", starts, frees);
    return PMPI_Finalize();
}
