/* Starts another job and calls collectives on communicators that have ranks of both, beside some
 * on its own. usage: jobs WORD …: the command line of the other job, which is this program without
 * arguments. */
#include <mpi.h>
#include <stdio.h>

enum { OTHERS = 2 };

static int good = 1;

static void ask(MPI_Comm comm)
{
    int p, rank, sum = 0, root = 0;
    MPI_Comm_size(comm, &p);
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < 3; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        good = good && sum == p * (p - 1) / 2;
        root = rank == 0 ? i : -1;
        MPI_Bcast(&root, 1, MPI_INT, 0, comm);
        good = good && root == i;
        MPI_Barrier(comm);
    }
}

int main(int argc, char **argv)
{
    int rank, all;
    MPI_Comm parent, other, both, part;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    ask(MPI_COMM_WORLD);
    other = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[1], argv + 2, OTHERS, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &both);
    ask(both);
    MPI_Comm_rank(both, &all);
    MPI_Comm_split(both, all % 2, -all, &part);
    ask(part);
    MPI_Comm_free(&part);
    MPI_Comm_free(&both);
    ask(MPI_COMM_WORLD);
    MPI_Comm_disconnect(&other);
    if (rank == 0 && parent == MPI_COMM_NULL)
        printf(good ? "ok\n" : "not ok\n");
    MPI_Finalize();
    return !good;
}
