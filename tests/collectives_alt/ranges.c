/* Which volumes rules are for. Under a profile whose rules name the canary, a replaced call fails;
 * prints "FUNCTION VOLUME replaced" or "FUNCTION VOLUME left" for every call: the first one of a
 * function on a communicator and later ones, with common types and one of the program's own, with
 * either rank as root. */
#include <mpi.h>
#include <stdio.h>

enum { MOST = 20, BYTES = 4096 };

static int rank, p;
static char in[BYTES], out[BYTES];

static void tell(const char *name, int volume, int rc)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(rc, &class);
    if (rank == 0)
        printf("%s %d %s\n", name, volume,
               class == MPI_ERR_UNSUPPORTED_OPERATION ? "replaced"
               : class == MPI_SUCCESS                 ? "left"
                                                      : "failed");
}

static void move(int n, MPI_Datatype type, int size, int root)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    tell("MPI_Bcast", n * size, MPI_Bcast(in, n, type, root, comm));
    tell("MPI_Gather", n * size * p, MPI_Gather(in, n, type, out, n, type, root, comm));
    tell("MPI_Scatter", n * size * p, MPI_Scatter(in, n, type, out, n, type, root, comm));
    tell("MPI_Allgather", n * size * p, MPI_Allgather(in, n, type, out, n, type, comm));
    tell("MPI_Alltoall", n * size * p, MPI_Alltoall(in, n, type, out, n, type, comm));
    /* The root's own block stays where it is, and its arguments of that block say nothing. */
    tell("MPI_Gather", n * size * p,
         rank == root ? MPI_Gather(MPI_IN_PLACE, 7, MPI_DOUBLE, out, n, type, root, comm)
                      : MPI_Gather(in, n, type, NULL, 999, MPI_DATATYPE_NULL, root, comm));
    tell("MPI_Scatter", n * size * p,
         rank == root ? MPI_Scatter(in, n, type, MPI_IN_PLACE, 7, MPI_DOUBLE, root, comm)
                      : MPI_Scatter(NULL, 999, MPI_DATATYPE_NULL, out, n, type, root, comm));
}

static void reduce(int n, MPI_Datatype type, int size, MPI_Op op, int root)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    tell("MPI_Reduce", n * size, MPI_Reduce(in, out, n, type, op, root, comm));
    tell("MPI_Allreduce", n * size, MPI_Allreduce(in, out, n, type, op, comm));
    tell("MPI_Scan", n * size, MPI_Scan(in, out, n, type, op, comm));
    tell("MPI_Exscan", n * size, MPI_Exscan(in, out, n, type, op, comm));
    tell("MPI_Reduce_scatter_block", n * size * p,
         MPI_Reduce_scatter_block(in, out, n, type, op, comm));
}

int main(int argc, char **argv)
{
    MPI_Datatype pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int root = 0; root < p; root++)
        for (int n = 0; n <= MOST; n++) {
            move(n, MPI_BYTE, 1, root);
            move(n, MPI_DOUBLE, 8, root);
            move(n, pair, 8, root);
            reduce(n, MPI_BYTE, 1, MPI_BOR, root);
            reduce(n, MPI_INT, 4, MPI_SUM, root);
            reduce(n, MPI_LONG_LONG, 8, MPI_SUM, root);
        }
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
