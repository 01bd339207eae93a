/* A library whose messages take PROGRESS_NS, known exactly, to be preloaded: with PROGRESS=perfect
 * time runs on by itself from MPI_Isend or MPI_Iallreduce, with PROGRESS=serial only inside
 * MPI_Wait and MPI_Waitall. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t started;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int64_t length(void)
{
    const char *text = getenv("PROGRESS_NS");
    return text ? atoll(text) : 0;
}

static int perfect(void)
{
    const char *text = getenv("PROGRESS");
    return text && strcmp(text, "perfect") == 0;
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    int64_t begin = now();
    int result = PMPI_Send(data, count, type, to, tag, comm);
    while (now() < begin + length())
        ;
    return result;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    started = now();
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Iallreduce(const void *mine, void *data, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    started = now();
    return PMPI_Iallreduce(mine, data, count, type, op, comm, request);
}

static void pass(int64_t begin)
{
    while (started && now() < begin + length())
        ;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int64_t begin = perfect() ? started : now();
    int result = PMPI_Wait(request, status);
    pass(begin);
    return result;
}

int MPI_Waitall(int requests, MPI_Request *all, MPI_Status *statuses)
{
    int64_t begin = perfect() ? started : now();
    int result = PMPI_Waitall(requests, all, statuses);
    pass(begin);
    return result;
}
