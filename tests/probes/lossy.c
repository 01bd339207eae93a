/* A library whose MPI_Recv, MPI_Sendrecv and MPI_Sendrecv_replace bring a wrong last byte on rank
 * 0, to be preloaded. PMPI_ functions stay as they are. */
#include <mpi.h>

static void spoil(void *data, int elements, MPI_Datatype type)
{
    int size, rank;
    PMPI_Type_size(type, &size);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && elements * size > 0)
        ((char *)data)[elements * size - 1] ^= 1;
}

int MPI_Recv(void *data, int elements, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    int rc = PMPI_Recv(data, elements, type, from, tag, comm, status);
    spoil(data, elements, type);
    return rc;
}

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void *data, int elements, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 MPI_Status *status)
{
    int rc = PMPI_Sendrecv(out, out_count, out_type, to, out_tag, data, elements, type, from, tag,
                           comm, status);
    spoil(data, elements, type);
    return rc;
}

int MPI_Sendrecv_replace(void *data, int elements, MPI_Datatype type, int to, int out_tag, int from,
                         int tag, MPI_Comm comm, MPI_Status *status)
{
    int rc = PMPI_Sendrecv_replace(data, elements, type, to, out_tag, from, tag, comm, status);
    spoil(data, elements, type);
    return rc;
}
