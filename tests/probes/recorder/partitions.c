/* Partitioned messages, and exchanges with a request: of MPI 4. */
#include "truth.h"

int main(int argc, char **argv)
{
    int rank, partner;
    double out[40], in[40], theirs[40];
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    partner = rank ^ 1;
    const int flags = NONBLOCKING | PERSISTENT | PARTITIONED;
    MPI_Precv_init(in, 4, 10, MPI_DOUBLE, partner, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(out, 4, 10, MPI_DOUBLE, partner, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 40; i++)
            out[i] = -1;
        for (int i = 0; i < 40; i++)
            theirs[i] = 100 * turn + 10 * i + partner;
        tell("MPI_Precv_init", RECEIVE, STANDARD, flags, partner, 3, theirs, 320);
        MPI_Start(&requests[0]);
        const int line = tell("MPI_Psend_init", SEND, STANDARD, flags, partner, 3, NULL, 320);
        MPI_Start(&requests[1]);
        for (int part = 3; part >= 0; part--) {
            for (int i = 10 * part; i < 10 * part + 10; i++)
                out[i] = 100 * turn + 10 * i + rank;
            MPI_Pready(part, requests[1]);
        }
        came(line, partner, 3, out, 320);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    tell("MPI_Isendrecv", SEND, STANDARD, EXCHANGE | NONBLOCKING, partner, 4, out, 80);
    tell("MPI_Isendrecv", RECEIVE, STANDARD, EXCHANGE | NONBLOCKING, partner, 4, theirs, 80);
    MPI_Isendrecv(out, 10, MPI_DOUBLE, partner, 4, in, 10, MPI_DOUBLE, partner, 4, MPI_COMM_WORLD,
                  &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    tell("MPI_Isendrecv_replace", SEND, STANDARD, EXCHANGE | NONBLOCKING, partner, 5, out, 80);
    tell("MPI_Isendrecv_replace", RECEIVE, STANDARD, EXCHANGE | NONBLOCKING, partner, 5, theirs,
         80);
    MPI_Isendrecv_replace(out, 10, MPI_DOUBLE, partner, 5, partner, 5, MPI_COMM_WORLD,
                          &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    write_truth();
    MPI_Finalize();
    return 0;
}
