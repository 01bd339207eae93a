/* Calls with counts that grow and with all in the last rank; rank 1 comes 2 ms late to Allreduce,
 * and Bcast follows at once. */
#include <mpi.h>
#include <unistd.h>

enum { MOST = 8, ELEMENTS = 1000, ROUNDS = 20 };

static double from[ELEMENTS], to[ELEMENTS * MOST];

static void after(int *displs, const int *counts, int p)
{
    for (int i = 1; i < p; i++)
        displs[i] = displs[i - 1] + counts[i - 1];
}

int main(int argc, char **argv)
{
    int rank, p, growing[MOST] = {0}, last[MOST] = {0}, behind[MOST] = {0}, at[MOST] = {0};
    MPI_Datatype pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    for (int i = 0; i < p; i++)
        growing[i] = 100 * (i + 1);
    last[p - 1] = ELEMENTS;
    after(behind, growing, p);
    after(at, last, p);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Allgatherv(from, growing[rank], MPI_DOUBLE, to, growing, behind, MPI_DOUBLE,
                       MPI_COMM_WORLD);
        MPI_Gatherv(from, last[rank], MPI_INT, to, last, at, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            usleep(2000);
        MPI_Allreduce(from, to, 10, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(from, 5, pair, 0, MPI_COMM_WORLD);
    }
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
