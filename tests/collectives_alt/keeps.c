/* One Allgather on MPI_COMM_WORLD, on MPI_COMM_SELF and on a duplicate. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int one = 1, all[64];
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_SELF);
    MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, copy);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
