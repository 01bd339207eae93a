/* A preload library that does what truncating mock-ups do: a block of count / p elements is no
 * block where the count is below the number of processes, so nothing is moved. It drops
 * Reduce_scatter_block and Allgather of one element a block. */
#include <mpi.h>

int MPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm)
{
    return count > 1 ? PMPI_Reduce_scatter_block(sendbuf, recvbuf, count, type, op, comm)
                     : MPI_SUCCESS;
}

int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    return recvcount > 1
               ? PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm)
               : MPI_SUCCESS;
}
