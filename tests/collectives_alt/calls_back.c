/* An error handler that makes calls of the same function on the same communicator, while the call
 * that failed is under way and repeats the one before. Under a profile that puts the canary in
 * the place of Bcasts of 8 bytes, prints "ok" or how many of its own calls went wrong. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 50, MOST = 40, REFUSED = 8 };

static int repeats, inside, bad, rank;

static void handler(MPI_Comm *comm, int *code, ...)
{
    char buffer[MOST];
    (void)code;
    if (!repeats)
        return;
    inside++;
    for (int bytes = 1; bytes <= MOST; bytes++) {
        if (bytes == REFUSED)
            continue;
        memset(buffer, rank == 0 ? bytes : 0, sizeof buffer);
        bad += MPI_Bcast(buffer, bytes, MPI_BYTE, 0, *comm) != MPI_SUCCESS;
        bad += buffer[bytes - 1] != bytes;
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Errhandler errhandler;
    char buffer[REFUSED] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(comm, errhandler);
    for (int round = 0; round < ROUNDS; round++)
        for (repeats = 0; repeats < 2; repeats++)
            bad += MPI_Bcast(buffer, REFUSED, MPI_BYTE, 0, comm) == MPI_SUCCESS;
    if (rank == 0)
        printf("%s inside=%d bad=%d\n", bad ? "not ok" : "ok", inside, bad);
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return bad > 0;
}
