/* A library whose MPI_Recv, MPI_Sendrecv, MPI_Sendrecv_replace and MPI_Irecv with MPI_Waitall bring
 * a wrong last byte on rank 0, to be preloaded. PMPI_ functions stay as they are. */
#include <mpi.h>

static void spoil(void *data, int elements, MPI_Datatype type)
{
    int rank;
    MPI_Aint before, extent, first, length;
    PMPI_Type_get_extent(type, &before, &extent);
    PMPI_Type_get_true_extent(type, &first, &length);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && elements > 0 && length > 0)
        ((char *)data)[(elements - 1) * extent + first + length - 1] ^= 1;
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

static struct {
    void *data;
    int elements;
    MPI_Datatype type;
} awaited;

int MPI_Irecv(void *data, int elements, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    awaited.data = data, awaited.elements = elements, awaited.type = type;
    return PMPI_Irecv(data, elements, type, from, tag, comm, request);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int rc = PMPI_Waitall(count, requests, statuses);
    if (awaited.data)
        spoil(awaited.data, awaited.elements, awaited.type);
    awaited.data = NULL;
    return rc;
}
