/* Callbacks that MPI_Finalize calls when it deletes the attributes of MPI_COMM_SELF and, with
 * `world`, of MPI_COMM_WORLD; both call MPI_Allreduce. The last rank has no callback on
 * MPI_COMM_SELF: it makes the call that belongs to it before MPI_Finalize. Prints on rank 0
 * "CALLBACK ok" lines. usage: farewell [world] */
#include <mpi.h>
#include <stdio.h>

static int ask(const char *who)
{
    int p, rank, one = 1, sum = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s\n", who, sum == p ? "ok" : "not ok");
    fflush(stdout);
    return MPI_SUCCESS;
}

static int farewell(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    return ask(value);
}

int main(int argc, char **argv)
{
    int rank, p, key;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, farewell, &key, NULL);
    if (argc > 1)
        MPI_Comm_set_attr(MPI_COMM_WORLD, key, "world");
    ask("before");
    if (rank < p - 1)
        MPI_Comm_set_attr(MPI_COMM_SELF, key, "self");
    else
        ask("self");
    MPI_Finalize();
    return 0;
}
