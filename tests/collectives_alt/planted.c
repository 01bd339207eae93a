/* A tool for controlled.c. It makes PMPI_Reduce, which a variant of Allreduce calls and the
 * library's own Allreduce does not, take PLANTED_VARIANT nanoseconds longer, and the library's own
 * Allreduce PLANTED_LIBRARY nanoseconds; and it counts the Allreduces that the preload library left
 * to the library. To be preloaded behind it. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static _Thread_local long passed;
static long variant_ns, library_ns;
static int (*reduce)(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);

/* Allreduces of this thread that went to the library. */
long planted_passed(void)
{
    return passed;
}

__attribute__((constructor)) static void begin(void)
{
    const char *const variant = getenv("PLANTED_VARIANT"), *const library =
                                                               getenv("PLANTED_LIBRARY");
    variant_ns = variant ? atol(variant) : 0;
    library_ns = library ? atol(library) : 0;
    *(void **)&reduce = dlsym(RTLD_NEXT, "PMPI_Reduce");
}

static long now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000 + at.tv_nsec;
}

static void spin(long ns)
{
    const long until = now() + ns;
    while (ns > 0 && now() < until)
        ;
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    passed++;
    spin(library_ns);
    return PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
}

int PMPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                int root, MPI_Comm comm)
{
    spin(variant_ns);
    return reduce(sendbuf, recvbuf, count, type, op, root, comm);
}
