/* A preload library in which the last rank takes two milliseconds more for MPI_Scan: what a loop
 * does with the times of ranks is seen in its result. */
#include <mpi.h>

#include <time.h>

int MPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm)
{
    int rank, size, rc = PMPI_Scan(sendbuf, recvbuf, count, type, op, comm);
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    if (rank == size - 1)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    return rc;
}
