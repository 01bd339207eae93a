/* Calls one collective so often: calls FUNCTION BYTES TIMES. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    MPI_Init(&argc, &argv);
    int bytes = atoi(argv[2]), times = atoi(argv[3]), size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *in = calloc(1, (size_t)bytes), *out = calloc(1, (size_t)bytes);
    for (int i = 0; i < times; i++) {
        if (strcmp(argv[1], "MPI_Bcast") == 0)
            MPI_Bcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "MPI_Reduce") == 0)
            MPI_Reduce(in, out, bytes, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
        else if (strcmp(argv[1], "MPI_Allreduce") == 0)
            MPI_Allreduce(in, out, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
        else
            MPI_Allgather(in, bytes / size, MPI_BYTE, out, bytes / size, MPI_BYTE, MPI_COMM_WORLD);
    }
    free(in);
    free(out);
    return MPI_Finalize();
}
