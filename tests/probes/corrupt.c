/* A library that delivers wrong data on rank CORRUPT_RANK, to be preloaded: with CORRUPT=flip the
 * last byte that a receive or collective brings is another, with CORRUPT=swap the messages of the
 * first two receives lie in each other's place. PMPI_ functions stay as they are. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
static struct {
    char *data;
    int bytes;
} posted[MOST];
static int count;

static void post(void *data, int elements, MPI_Datatype type)
{
    int size;
    PMPI_Type_size(type, &size);
    if (count < MOST && elements * size > 0) {
        posted[count].data = data;
        posted[count++].bytes = elements * size;
    }
}

static void corrupt(void)
{
    const char *how = getenv("CORRUPT"), *where = getenv("CORRUPT_RANK");
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (how && where && atoi(where) == rank && count > 0) {
        if (strcmp(how, "flip") == 0)
            posted[count - 1].data[posted[count - 1].bytes - 1] ^= 2;
        for (int i = 0; strcmp(how, "swap") == 0 && count > 1 && i < posted[0].bytes; i++) {
            char kept = posted[0].data[i];
            posted[0].data[i] = posted[1].data[i];
            posted[1].data[i] = kept;
        }
    }
    count = 0;
}

int MPI_Irecv(void *data, int elements, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    post(data, elements, type);
    return PMPI_Irecv(data, elements, type, from, tag, comm, request);
}

int MPI_Iallreduce(const void *mine, void *data, int elements, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    post(data, elements, type);
    return PMPI_Iallreduce(mine, data, elements, type, op, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int result = PMPI_Wait(request, status);
    corrupt();
    return result;
}

int MPI_Waitall(int requests, MPI_Request *all, MPI_Status *statuses)
{
    int result = PMPI_Waitall(requests, all, statuses);
    corrupt();
    return result;
}
