/* A preload library that writes down, on each rank, where the receive buffer of every MPI_Bcast and
 * the send buffer of every MPI_Reduce_local are, and whether all of the buffer is zero:
 * PLUMBLINE_TEST_ADDRESSES.<rank>. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static void note(const void *buffer, int bytes)
{
    static FILE *out;
    const unsigned char *at = buffer;
    int zero = 1;
    if (!out) {
        char name[4096];
        int rank;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        snprintf(name, sizeof name, "%s.%d", getenv("PLUMBLINE_TEST_ADDRESSES"), rank);
        out = fopen(name, "w");
    }
    for (int i = 0; i < bytes; i++)
        zero &= at[i] == 0;
    fprintf(out, "%p %d %d\n", buffer, bytes, zero);
    fflush(out);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int width;
    PMPI_Type_size(type, &width);
    note(buffer, count * width);
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Reduce_local(const void *inbuf, void *inoutbuf, int count, MPI_Datatype type, MPI_Op op)
{
    int width;
    PMPI_Type_size(type, &width);
    note(inbuf, count * width);
    return PMPI_Reduce_local(inbuf, inoutbuf, count, type, op);
}
