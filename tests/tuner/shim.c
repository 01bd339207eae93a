/* A tool that somebody preloads: it makes calls of a range of sizes slower, on every rank, and
 * hands them on. What it does is said when it is built (shim.py): SHIM_ALLREDUCE = {from, to,
 * nanoseconds}, sizes as plans have them (`bytes`). While the variable SHIM_WHEN is set, one start
 * in two, which the number of the process that starts the ranks decides, waits SHIM_PERCENT longer.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifndef SHIM_WHEN
#define SHIM_WHEN "SHIM_WHEN"
#endif
#ifndef SHIM_PERCENT
#define SHIM_PERCENT 0
#endif

#define NEVER                                                                                      \
    {                                                                                              \
        1, 0, 0                                                                                    \
    }
#ifndef SHIM_ALLREDUCE
#define SHIM_ALLREDUCE NEVER
#endif
#ifndef SHIM_REDUCE
#define SHIM_REDUCE NEVER
#endif
#ifndef SHIM_GATHER
#define SHIM_GATHER NEVER
#endif
#ifndef SHIM_BCAST
#define SHIM_BCAST NEVER
#endif
#ifndef SHIM_ALLGATHER
#define SHIM_ALLGATHER NEVER
#endif
#ifndef SHIM_BARRIER
#define SHIM_BARRIER NEVER
#endif
#ifndef SHIM_SCAN
#define SHIM_SCAN NEVER
#endif

struct slow {
    long long from, to, ns;
};

static const struct slow allreduce = SHIM_ALLREDUCE, reduce = SHIM_REDUCE, gather = SHIM_GATHER,
                         bcast = SHIM_BCAST, allgather = SHIM_ALLGATHER, scan = SHIM_SCAN,
                         barrier = SHIM_BARRIER;

static long long now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static long long percent(void)
{
    static int known, more;
    if (!known) {
        const uint32_t mixed = (uint32_t)getppid() * 2654435761u;
        more = getenv(SHIM_WHEN) && mixed >> 31 ? SHIM_PERCENT : 0;
        known = 1;
    }
    return 100 + more;
}

static void wait_for(const struct slow *slow, int count, MPI_Datatype type, int blocks)
{
    int size;
    if (slow->ns == 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS)
        return;
    const long long bytes = (long long)count * size * blocks;
    if (bytes < slow->from || bytes > slow->to)
        return;
    const long long end = now_ns() + slow->ns * percent() / 100;
    while (now_ns() < end)
        ;
}

static int size_of(MPI_Comm comm)
{
    int size = 1;
    PMPI_Comm_size(comm, &size);
    return size;
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    wait_for(&allreduce, count, type, 1);
    return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
}

int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
               int root, MPI_Comm comm)
{
    wait_for(&reduce, count, type, 1);
    return PMPI_Reduce(sendbuf, recvbuf, count, type, op, root, comm);
}

int MPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm)
{
    wait_for(&scan, count, type, 1);
    return PMPI_Scan(sendbuf, recvbuf, count, type, op, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    wait_for(&barrier, 0, MPI_BYTE, 1);
    return PMPI_Barrier(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    wait_for(&bcast, count, type, 1);
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
               int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    if (sendbuf == MPI_IN_PLACE)
        wait_for(&gather, recvcount, recvtype, size_of(comm));
    else
        wait_for(&gather, sendcount, sendtype, size_of(comm));
    return PMPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
}

int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    wait_for(&allgather, recvcount, recvtype, size_of(comm));
    return PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}
