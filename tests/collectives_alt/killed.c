/* Allreduces of 1 … n bytes; then one rank dies by a signal that nothing can catch, while the
 * others wait for it. usage: killed n */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static char from[1 << 16], to[1 << 16];

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int bytes = 1; bytes <= n; bytes++)
        MPI_Allreduce(from, to, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        kill(getpid(), SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
