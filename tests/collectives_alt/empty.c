/* Calls that move nothing, under the preload library: one half of the ranks writes the empty
 * signature as no elements of 4 GiB, the other as no integers, and all must decide alike. Prints
 * "ok" when the last call, which moves something, was right.
 * Needs two ranks. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64 };

int main(int argc, char **argv)
{
    int rank, p, size, counts[MOST] = {0};
    char out[8], in[8];
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype huge, sent, taken;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &p);
    MPI_Type_contiguous(1 << 30, MPI_INT, &huge);
    MPI_Type_commit(&huge);
    MPI_Type_size(huge, &size);
    memset(out, 1, sizeof out);
    memset(in, 1, sizeof in);
    for (int turn = 0; turn < 4; turn++) {
        sent = (rank + turn) % 2 ? huge : MPI_INT;
        taken = turn < 2 ? sent : (rank + turn) % 2 ? MPI_INT : huge;
        for (int root = 0; root < p; root += p - 1) {
            MPI_Bcast(in, 0, taken, root, world);
            MPI_Gather(out, 0, sent, in, 0, taken, root, world);
            MPI_Gatherv(out, 0, sent, in, counts, counts, taken, root, world);
            MPI_Scatter(out, 0, sent, in, 0, taken, root, world);
            MPI_Scatterv(out, counts, counts, sent, in, 0, taken, root, world);
        }
        MPI_Allgather(out, 0, sent, in, 0, taken, world);
        MPI_Allgather(MPI_IN_PLACE, 0, sent, in, 0, taken, world);
        MPI_Allgatherv(out, 0, sent, in, counts, counts, taken, world);
        MPI_Alltoall(out, 0, sent, in, 0, taken, world);
        MPI_Alltoall(MPI_IN_PLACE, 0, sent, in, 0, taken, world);
        MPI_Alltoallv(out, counts, counts, sent, in, counts, counts, taken, world);
    }
    int good = size == MPI_UNDEFINED, sum = 0;
    for (size_t i = 0; i < sizeof in; i++)
        good = good && in[i] == 1;
    MPI_Allreduce(&good, &sum, 1, MPI_INT, MPI_SUM, world);
    if (rank == 0)
        printf("%s\n", sum == p ? "ok" : "not ok");
    MPI_Type_free(&huge);
    MPI_Finalize();
    return sum != p;
}
