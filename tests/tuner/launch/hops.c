/* Half a round trip of one byte between rank 0 and each other rank, in ns of simulated time. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    int rank, size;
    char ball = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int other = 1; other < size; other++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (rank == other) {
            MPI_Recv(&ball, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&ball, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Send(&ball, 1, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            MPI_Recv(&ball, 1, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("%.0f\n", (MPI_Wtime() - start) / 2 * 1e9);
            fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
