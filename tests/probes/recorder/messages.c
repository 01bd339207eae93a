/* Every way to send and receive, in pairs of ranks (an even number), with what was done. */
#include "truth.h"

#include <string.h>

enum { MOST = 20000 };

static int rank, p, partner;
static double out[MOST], in[MOST];

static void fill(int salt)
{
    for (int i = 0; i < MOST; i++)
        out[i] = 1000.0 * salt + 10.0 * i + rank;
}

/* What the partner fills its own with. */
static const double *theirs(int salt)
{
    static double other[MOST];
    for (int i = 0; i < MOST; i++)
        other[i] = 1000.0 * salt + 10.0 * i + partner;
    return other;
}

#define BLOCKING(name, mode)                                                                       \
    do {                                                                                           \
        tell("MPI_" #name, SEND, mode, 0, partner, tag, out, 8LL * n);                             \
        MPI_##name(out, n, MPI_DOUBLE, partner, tag, MPI_COMM_WORLD);                              \
    } while (0)

static void receive(int n, int tag, int salt)
{
    tell("MPI_Recv", RECEIVE, STANDARD, 0, partner, tag, theirs(salt), 8LL * n);
    MPI_Recv(in, n, MPI_DOUBLE, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void modes(void)
{
    const int sizes[] = {0, 1, 7, 8, 100, MOST};
    static char attached[1 << 20];
    MPI_Buffer_attach(attached, sizeof attached);
    for (int i = 0; i < 6; i++) {
        const int n = sizes[i], tag = i;
        fill(i);
        for (int turn = 0; turn < 2; turn++) {
            if (turn == rank % 2) {
                BLOCKING(Send, STANDARD);
                BLOCKING(Ssend, SYNCHRONOUS);
                BLOCKING(Bsend, BUFFERED);
            } else {
                for (int k = 0; k < 3; k++)
                    receive(n, tag, i);
            }
        }
    }
    void *back;
    int bytes;
    MPI_Buffer_detach(&back, &bytes);
}

#define BEGIN(name, mode)                                                                          \
    do {                                                                                           \
        tell("MPI_" #name, SEND, mode, NONBLOCKING, partner, 20, out, 80);                         \
        MPI_##name(out, 10, MPI_DOUBLE, partner, 20, MPI_COMM_WORLD, &requests[4 + sent++]);       \
    } while (0)

/* Eight requests, completed in one of eight ways. */
static void nonblocking(int way)
{
    static double room[4][10];
    static char attached[4096];
    MPI_Request requests[8];
    MPI_Status statuses[8];
    int sent = 0, index, flag = 0, count, indices[8];
    fill(30 + way);
    MPI_Buffer_attach(attached, sizeof attached);
    for (int i = 0; i < 4; i++) {
        tell("MPI_Irecv", RECEIVE, STANDARD, NONBLOCKING, partner, 20, theirs(30 + way), 80);
        MPI_Irecv(room[i], 10, MPI_DOUBLE, partner, 20, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* nothing */
    PMPI_Barrier(MPI_COMM_WORLD);                    /* receives are ready; not recorded */
    BEGIN(Isend, STANDARD);
    BEGIN(Issend, SYNCHRONOUS);
    BEGIN(Ibsend, BUFFERED);
    BEGIN(Irsend, READY);
    switch (way) {
    case 0:
        for (int i = 7; i >= 0; i--)
            MPI_Wait(&requests[i], i % 2 ? &statuses[0] : MPI_STATUS_IGNORE);
        break;
    case 1:
        for (int i = 0; i < 8; i++)
            for (flag = 0; !flag;)
                MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        break;
    case 2:
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
        break;
    case 3:
        MPI_Waitall(8, requests, statuses);
        break;
    case 4:
        while (!flag)
            MPI_Testall(8, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    case 5:
        for (int i = 0; i < 8; i++)
            MPI_Waitany(8, requests, &index, MPI_STATUS_IGNORE);
        break;
    case 6:
        for (int i = 0; i < 8; i += flag)
            MPI_Testany(8, requests, &index, &flag, &statuses[0]);
        break;
    case 7:
        for (int i = 0; i < 4; i += count)
            MPI_Waitsome(4, requests, &count, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 4; i += count)
            MPI_Testsome(4, requests + 4, &count, indices, statuses);
        break;
    }
    void *back;
    int bytes;
    MPI_Buffer_detach(&back, &bytes);
}

static void persistent(void)
{
    MPI_Request requests[2];
    fill(50);
    MPI_Recv_init(in, 30, MPI_DOUBLE, partner, 21, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend_init(out, 20, MPI_DOUBLE, partner, 21, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        fill(50 + i);
        tell("MPI_Recv_init", RECEIVE, STANDARD, NONBLOCKING | PERSISTENT, partner, 21,
             theirs(50 + i), 160);
        tell("MPI_Ssend_init", SEND, SYNCHRONOUS, NONBLOCKING | PERSISTENT, partner, 21, out, 160);
        if (i == 0) {
            MPI_Start(&requests[0]);
            MPI_Start(&requests[1]);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE); /* inactive: nothing */
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void exchanges(void)
{
    fill(60);
    tell("MPI_Sendrecv", SEND, STANDARD, EXCHANGE, partner, 22 + rank % 2, out, 800);
    tell("MPI_Sendrecv", RECEIVE, STANDARD, EXCHANGE, partner, 22 + partner % 2, theirs(60), 800);
    MPI_Sendrecv(out, 100, MPI_DOUBLE, partner, 22 + rank % 2, in, 200, MPI_DOUBLE, partner,
                 22 + partner % 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tell("MPI_Sendrecv_replace", SEND, STANDARD, EXCHANGE, partner, 24, out, 800);
    tell("MPI_Sendrecv_replace", RECEIVE, STANDARD, EXCHANGE, partner, 24, theirs(60), 800);
    MPI_Sendrecv_replace(out, 100, MPI_DOUBLE, partner, 24, partner, 24, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
}

/* Rank 0 gets a message of everyone, and learns who has sent it. */
static void wildcards(void)
{
    int value = 100 + rank;
    MPI_Status status;
    MPI_Request request;
    if (rank > 0) {
        tell("MPI_Send", SEND, STANDARD, 0, 0, 200 + rank, &value, 4);
        MPI_Send(&value, 1, MPI_INT, 0, 200 + rank, MPI_COMM_WORLD);
        tell("MPI_Send", SEND, STANDARD, 0, 0, 300, &value, 4);
        MPI_Send(&value, 1, MPI_INT, 0, 300, MPI_COMM_WORLD);
        return;
    }
    for (int i = 1; i < p; i++) {
        const int line = tell("MPI_Recv", RECEIVE, STANDARD, ANY_SOURCE | ANY_TAG, 0, 0, NULL, 0);
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        came(line, status.MPI_SOURCE, status.MPI_TAG, &value, 4);
    }
    for (int i = 1; i < p; i++) {
        const int line =
            tell("MPI_Irecv", RECEIVE, STANDARD, NONBLOCKING | ANY_SOURCE | ANY_TAG, 0, 0, NULL, 0);
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        came(line, status.MPI_SOURCE, status.MPI_TAG, &value, 4);
    }
}

static void matched(void)
{
    MPI_Message message;
    MPI_Request request;
    int flag = 0;
    fill(70);
    for (int i = 0; i < 2; i++) {
        tell("MPI_Isend", SEND, STANDARD, NONBLOCKING, partner, 25, out, 40);
        MPI_Isend(out, 5, MPI_DOUBLE, partner, 25, MPI_COMM_WORLD, &request);
        if (i == 0) {
            MPI_Mprobe(partner, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            tell("MPI_Mrecv", RECEIVE, STANDARD, PROBED | ANY_TAG, partner, 25, theirs(70), 40);
            MPI_Mrecv(in, 5, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
        } else {
            while (!flag)
                MPI_Improbe(MPI_ANY_SOURCE, 25, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
            MPI_Request other;
            tell("MPI_Imrecv", RECEIVE, STANDARD, PROBED | ANY_SOURCE | NONBLOCKING, partner, 25,
                 theirs(70), 40);
            MPI_Imrecv(in, 5, MPI_DOUBLE, &message, &other);
            MPI_Wait(&other, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Peers are ranks of the world whatever communicator they are named in. */
static void communicators(void)
{
    MPI_Comm half, twin, turned, between;
    int own, value = 500 + rank, got;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &own);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    const int next = (rank + p - 2) % p, last = (rank + 2) % p, size = p / 2;
    for (int i = 0; i < 2 && size > 1; i++) { /* a ring on each half */
        tell("MPI_Sendrecv", SEND, STANDARD, EXCHANGE, next, 26, &value, 4);
        const int line = tell("MPI_Sendrecv", RECEIVE, STANDARD, EXCHANGE, last, 26, NULL, 0);
        MPI_Sendrecv(&value, 1, MPI_INT, (own + 1) % size, 26, &got, 1, MPI_INT,
                     (own + size - 1) % size, 26, half, MPI_STATUS_IGNORE);
        came(line, last, 26, &got, 4);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Comm comm = i ? turned : twin;
        const int there = i ? p - 1 - partner : partner;
        tell("MPI_Sendrecv", SEND, STANDARD, EXCHANGE, partner, 26, &value, 4);
        const int line = tell("MPI_Sendrecv", RECEIVE, STANDARD, EXCHANGE, partner, 26, NULL, 0);
        MPI_Sendrecv(&value, 1, MPI_INT, there, 26, &got, 1, MPI_INT, there, 26, comm,
                     MPI_STATUS_IGNORE);
        came(line, partner, 26, &got, 4);
    }
    MPI_Intercomm_create(half, 0, twin, rank % 2 ? p - 2 : p - 1, 1, &between);
    tell("MPI_Sendrecv", SEND, STANDARD, EXCHANGE, partner, 27, &value, 4);
    const int line = tell("MPI_Sendrecv", RECEIVE, STANDARD, EXCHANGE, partner, 27, NULL, 0);
    MPI_Sendrecv(&value, 1, MPI_INT, own, 27, &got, 1, MPI_INT, own, 27, between,
                 MPI_STATUS_IGNORE);
    came(line, partner, 27, &got, 4);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&turned);
}

static void exchange_type(MPI_Datatype type, int count, const void *sent, void *received,
                          const double *packed, int doubles, int gaps, int free_early)
{
    double other[64];
    MPI_Request request;
    for (int i = 0; i < doubles; i++)
        other[i] = packed[i] - rank + partner;
    tell("MPI_Irecv", RECEIVE, STANDARD, NONBLOCKING | gaps, partner, 28, other, 8LL * doubles);
    MPI_Irecv(received, count, type, partner, 28, MPI_COMM_WORLD, &request);
    tell("MPI_Send", SEND, STANDARD, gaps, partner, 28, packed, 8LL * doubles);
    MPI_Send(sent, count, type, partner, 28, MPI_COMM_WORLD);
    if (free_early)
        MPI_Type_free(&type);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!free_early)
        MPI_Type_free(&type);
}

static void types(void)
{
    double packed[64];
    MPI_Datatype type, inner;
    fill(80);
    memset(in, 0, sizeof in);
    MPI_Type_vector(5, 2, 3, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 10; i++)
        packed[i] = out[i / 2 * 3 + i % 2];
    exchange_type(type, 1, out, in, packed, 10, GAPS, 1);

    MPI_Type_contiguous(4, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    exchange_type(type, 3, out, in, out, 12, 0, 1);

    const int lengths[] = {2, 1}, places[] = {7, 1}; /* not in the order of memory */
    MPI_Type_indexed(2, lengths, places, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    packed[0] = out[7], packed[1] = out[8], packed[2] = out[1];
    exchange_type(type, 1, out, in, packed, 3, GAPS, 0);

    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &inner);
    MPI_Type_create_resized(inner, 0, 8 * 4, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&inner);
    for (int i = 0; i < 6; i++)
        packed[i] = out[i / 2 * 4 + i % 2 * 2];
    exchange_type(type, 3, out, in, packed, 6, GAPS, 0);

    /* Two buffers by their addresses, as HPL has them. */
    MPI_Aint at[2];
    const MPI_Datatype parts[] = {MPI_DOUBLE, MPI_DOUBLE};
    const int counts[] = {3, 4};
    MPI_Datatype target;
    MPI_Get_address(out + 100, &at[0]);
    MPI_Get_address(out + 10, &at[1]);
    MPI_Type_create_struct(2, counts, at, parts, &type);
    MPI_Get_address(in + 100, &at[0]);
    MPI_Get_address(in + 10, &at[1]);
    MPI_Type_create_struct(2, counts, at, parts, &target);
    MPI_Type_commit(&type);
    MPI_Type_commit(&target);
    for (int i = 0; i < 7; i++)
        packed[i] = i < 3 ? out[100 + i] : out[10 + i - 3];
    double other[7];
    for (int i = 0; i < 7; i++)
        other[i] = packed[i] - rank + partner;
    tell("MPI_Sendrecv", SEND, STANDARD, EXCHANGE | GAPS, partner, 29, packed, 56);
    tell("MPI_Sendrecv", RECEIVE, STANDARD, EXCHANGE | GAPS, partner, 29, other, 56);
    MPI_Sendrecv(MPI_BOTTOM, 1, type, partner, 29, MPI_BOTTOM, 1, target, partner, 29,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    MPI_Type_free(&target);
}

static void unusual(void)
{
    MPI_Request request, many[300];
    double value = 1;
    tell("MPI_Irecv", RECEIVE, STANDARD, NONBLOCKING | CANCELLED, partner, 30, NULL, 8);
    MPI_Irecv(in, 1, MPI_DOUBLE, partner, 30, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* A library may have one handle for all of these. */
    for (int i = 0; i < 300; i++) {
        out[i] = 9000 + i + rank;
        tell("MPI_Isend", SEND, STANDARD, NONBLOCKING, partner, 31, &out[i], 8);
        MPI_Isend(&out[i], 1, MPI_DOUBLE, partner, 31, MPI_COMM_WORLD, &many[i]);
    }
    for (int i = 0; i < 300; i++) {
        const double expected = 9000 + i + partner;
        tell("MPI_Recv", RECEIVE, STANDARD, 0, partner, 31, &expected, 8);
        MPI_Recv(in, 4, MPI_DOUBLE, partner, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(300, many, MPI_STATUSES_IGNORE);
    tell("MPI_Isend", SEND, STANDARD, NONBLOCKING, partner, 32, out, 8);
    MPI_Isend(out, 1, MPI_DOUBLE, partner, 32, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    tell("MPI_Irecv", RECEIVE, STANDARD, NONBLOCKING | UNKNOWN, partner, 32, NULL, 8);
    MPI_Irecv(in, 1, MPI_DOUBLE, partner, 32, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    PMPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    partner = rank ^ 1;
    modes();
    for (int way = 0; way < 8; way++)
        nonblocking(way);
    persistent();
    exchanges();
    PMPI_Barrier(MPI_COMM_WORLD);
    wildcards();
    PMPI_Barrier(MPI_COMM_WORLD); /* or a wildcard takes what is meant for another receive */
    matched();
    communicators();
    types();
    unusual();
    write_truth();
    MPI_Finalize();
    return 0;
}
