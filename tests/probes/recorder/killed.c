/* A ring of messages that ends in the middle: rank 1 is killed while all others wait for it. */
#include <mpi.h>
#include <signal.h>

int main(int argc, char **argv)
{
    int rank, p, value = 7;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    for (int i = 0; i < 50; i++)
        MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % p, 0, (rank + p - 1) % p, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        raise(SIGKILL);
    MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
