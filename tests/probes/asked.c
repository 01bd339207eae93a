/* To be preloaded: says on standard error how often PMPI_Iprobe was called;
 * with WRONG=1, MPI_Isend sends another first byte. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long calls;

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    int (*real)(int, int, MPI_Comm, int *, MPI_Status *) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "PMPI_Iprobe");
    atomic_fetch_add(&calls, 1);
    return real(source, tag, comm, flag, status);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    if (getenv("WRONG"))
        *(char *)data ^= 1;
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Finalize(void)
{
    fprintf(stderr, "asked %ld times\n", atomic_load(&calls));
    return PMPI_Finalize();
}
