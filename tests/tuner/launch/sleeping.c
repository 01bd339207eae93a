/* A preload library with which each collective sleeps on all ranks before it begins: ranks that
 * have fewer processors than they are do not disturb each other. */
#include <mpi.h>

#include <time.h>

static void sleep_ms(void)
{
    const struct timespec time = {.tv_nsec = 2000000};
    nanosleep(&time, NULL);
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    sleep_ms();
    return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
}

int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
               int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    sleep_ms();
    return PMPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}
