/* The application of docs/user.md: some calls, and an end. */
#include <mpi.h>

enum { COUNT = 4096, CALLS = 50 };

int main(int count, char **words)
{
    static int sent[COUNT], received[COUNT];

    MPI_Init(&count, &words);
    for (int call = 0; call < CALLS; call++) {
        MPI_Allreduce(sent, received, COUNT, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
        MPI_Bcast(received, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
