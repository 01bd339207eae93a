/* An application of which 60 % is small Allreduce and Bcast: a loop of these and of work that takes
 * two thirds of their time. Prints the seconds of the loop on rank 0. Argument: iterations. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double iterate(int iterations, int work)
{
    double values[2] = {1.0, 2.0}, sums[2];
    char text[64] = "";
    volatile double sink = 0.0;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < iterations; i++) {
        if (work >= 0) {
            MPI_Allreduce(values, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            MPI_Bcast(text, sizeof text, MPI_BYTE, 0, MPI_COMM_WORLD);
        }
        for (int j = 0; j < abs(work); j++)
            sink = sink + 1.0;
    }
    return MPI_Wtime() - begin;
}

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 1000000, work = argc > 2 ? atoi(argv[2]) : 0, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double seconds = iterate(iterations, work);
    if (rank == 0)
        printf("seconds %.6f\n", seconds);
    MPI_Finalize();
    return 0;
}
