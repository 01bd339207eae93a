/* A library whose broadcast is a chain, to be preloaded: from the root on each rank receives,
 * sleeps PIPELINE_NS, and sends to the next. Of p ranks the k-th is through after k sleeps, so that
 * a call takes p of them, the mean over ranks is (p + 1) / 2, and of many calls back to back one
 * takes little more than one. Only for root 0. */
#include <mpi.h>

#include <stdlib.h>
#include <time.h>

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    const char *text = getenv("PIPELINE_NS");
    int rank, size, rc = root == 0 ? MPI_SUCCESS : MPI_ERR_ROOT;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    if (rank > 0 && rc == MPI_SUCCESS)
        rc = PMPI_Recv(buffer, count, type, rank - 1, 7, comm, MPI_STATUS_IGNORE);
    nanosleep(&(struct timespec){0, text ? atol(text) : 0}, NULL);
    if (rank + 1 < size && rc == MPI_SUCCESS)
        rc = PMPI_Send(buffer, count, type, rank + 1, 7, comm);
    return rc;
}
