/* A ping-pong as anybody would write it: medians of round trips over two, in nanoseconds, one line
 * a message size: "bytes ns". It receives beside what it sends: from and into one buffer data would
 * go back and forth between caches. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    enum { TRIPS = 201 };
    static double trips[TRIPS];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int arg = 1; arg < argc; arg++) {
        int bytes = atoi(argv[arg]), other = 1 - rank;
        char *out = calloc((size_t)bytes + 1, 1), *in = calloc((size_t)bytes + 1, 1);
        for (int i = -20; i < TRIPS; i++) {
            double start = MPI_Wtime();
            if (rank == 0)
                MPI_Send(out, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(out, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
            if (i >= 0)
                trips[i] = MPI_Wtime() - start;
        }
        qsort(trips, TRIPS, sizeof *trips, by_value);
        if (rank == 0)
            printf("%d %.1f\n", bytes, 1e9 * trips[TRIPS / 2] / 2);
        free(out);
        free(in);
    }
    MPI_Finalize();
    return 0;
}
