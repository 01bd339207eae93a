/* An MPI_Ibcast that is over before anything has come. */
#include <mpi.h>
#include <string.h>

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request)
{
    int rank, size;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Type_size(type, &size);
    if (rank != root)
        memset(buffer, 0, (size_t)count * (size_t)size);
    return PMPI_Ibarrier(comm, request);
}
