/* Errors under the preload library: an illegal call, and a variant that gets no memory. Each must
 * reach the error handler of its communicator exactly once, and be returned. Prints "ok" or what is
 * wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static int calls, class_seen;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    calls++;
    MPI_Error_class(*code, &class_seen);
}

static void expect(const char *what, int rc, int expected)
{
    int returned = MPI_SUCCESS;
    MPI_Error_class(rc, &returned);
    if (calls == 1 && class_seen == expected && returned == expected)
        printf("ok %s\n", what);
    else
        printf("not ok %s: handler called %d times with class %d, class %d returned, not %d\n",
               what, calls, class_seen, returned, expected);
    calls = class_seen = 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int p;
    MPI_Comm comm;
    MPI_Errhandler errhandler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_size(comm, &p);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(comm, errhandler);

    int value = 0;
    expect("illegal count", MPI_Allgather(&value, 1, MPI_INT, &value, -1, MPI_INT, comm),
           MPI_ERR_COUNT);
    expect("illegal type", MPI_Allgather(&value, 1, MPI_INT, &value, 1, MPI_DATATYPE_NULL, comm),
           MPI_ERR_TYPE);

    /* The receive buffer is there before the limit, the scratch of the same size is not. */
    const int block = 1 << 28;
    char *mine = calloc(1, (size_t)block), *all = calloc((size_t)p, (size_t)block);
    struct rlimit before, tight;
    getrlimit(RLIMIT_AS, &before);
    tight = before;
    tight.rlim_cur = 1 << 20;
    if (!mine || !all || setrlimit(RLIMIT_AS, &tight) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    expect("no memory", MPI_Allgather(mine, block, MPI_BYTE, all, block, MPI_BYTE, comm),
           MPI_ERR_NO_MEM);
    setrlimit(RLIMIT_AS, &before);
    free(mine);
    free(all);
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
