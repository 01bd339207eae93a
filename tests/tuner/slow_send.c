/* A library whose MPI_Send takes 300 µs longer, to be preloaded: with a derived datatype, and,
 * where SLOW_SEND_EAGER is set, with 4096 bytes or more while nobody sets the eager limit of
 * messages inside a node. */
#include <mpi.h>

#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int is_derived(MPI_Datatype type)
{
    int integers, addresses, types, combiner;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner != MPI_COMBINER_NAMED;
}

static int is_slow(int count, MPI_Datatype type)
{
    static int asks_for_size = -1; /* a look costs as much as a twentieth of a short message */
    if (asks_for_size < 0)
        asks_for_size = getenv("SLOW_SEND_EAGER") != NULL;
    if (!asks_for_size)
        return type != MPI_BYTE && is_derived(type);
    int size;
    PMPI_Type_size(type, &size);
    return count * size >= 4096 && !getenv("OMPI_MCA_btl_vader_eager_limit") &&
           !getenv("OMPI_MCA_btl_sm_eager_limit");
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    if (is_slow(count, type))
        for (double end = seconds() + 300e-6; seconds() < end;)
            continue;
    return PMPI_Send(data, count, type, to, tag, comm);
}
