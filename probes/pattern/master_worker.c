/* A root that hands out work and takes results (Kumar, Grama, Gupta and Karypis, Introduction to
 * Parallel Computing, 1994): each other rank gets a message, and whoever has answered gets the next
 * one, until CHUNKS times as many messages as there are workers have come back. Workers answer at
 * once with what they got. Operations differ in how the root waits for whoever is first.
 *
 * A message without elements ends a worker's part; so work has one element at least. */
#include "pattern/pattern.h"

#include <stdlib.h>

const struct pl_pattern pl_pattern_master_worker = {
    .name = "master_worker",
    .summary = "the root hands four messages a worker to whoever is free, and takes the answers",
    .least_ranks = 2,
    .has_root = true,
};

enum { CHUNKS = 4, TAG_WORK = PL_PATTERN_TAG, TAG_ENOUGH, TAG_RESULT };

/* Of the operations that wait by requests: one a worker, made for a series. */
static MPI_Request *requests;
static int *ready;

typedef int send_call(const void *, int, MPI_Datatype, int, int, MPI_Comm);

/* How a root waits: for the next results, by worker (0 … workers - 1); returns how many. */
typedef int wait_call(const struct pl_call *call, int workers, int *which, int *rc);

static int worker_of(const struct pl_call *call, int rank)
{
    return rank < call->root ? rank : rank - 1;
}

static int rank_of(const struct pl_call *call, int worker)
{
    return worker < call->root ? worker : worker + 1;
}

static void *slot(const struct pl_call *call, int worker)
{
    int size;
    PMPI_Type_size(call->recvtype, &size);
    return (char *)call->recvbuf + (size_t)worker * (size_t)call->recvcount * (size_t)size;
}

static int work(const struct pl_call *call)
{
    int rc;
    for (;;) {
        MPI_Status status;
        PL_TRY(MPI_Recv(call->recvbuf, call->recvcount, call->recvtype, call->root, MPI_ANY_TAG,
                        call->comm, &status));
        if (status.MPI_TAG == TAG_ENOUGH)
            return MPI_SUCCESS;
        PL_TRY(MPI_Send(call->recvbuf, call->recvcount, call->recvtype, call->root, TAG_RESULT,
                        call->comm));
    }
out:
    return rc;
}

static int expect(const struct pl_call *call, int worker)
{
    return MPI_Irecv(slot(call, worker), call->recvcount, call->recvtype, rank_of(call, worker),
                     TAG_RESULT, call->comm, &requests[worker]);
}

/* `posted`: the receive of a result stands before its work is sent. */
static int hand_out(const struct pl_call *call, int worker, send_call *send, bool posted)
{
    int rc = posted ? expect(call, worker) : MPI_SUCCESS;
    if (rc != MPI_SUCCESS)
        return rc;
    return send(call->sendbuf, call->recvcount, call->recvtype, rank_of(call, worker), TAG_WORK,
                call->comm);
}

static int hand_out_all(const struct pl_call *call, send_call *send, wait_call *wait, bool posted)
{
    int rank, nprocs, rc = MPI_SUCCESS;
    MPI_Comm_rank(call->comm, &rank);
    MPI_Comm_size(call->comm, &nprocs);
    if (rank != call->root)
        return work(call);

    const int workers = nprocs - 1, chunks = CHUNKS * workers;
    int given = 0, taken = 0;
    for (; given < workers; given++)
        PL_TRY(hand_out(call, given, send, posted));
    while (taken < chunks) {
        const int count = wait(call, workers, ready, &rc);
        if (rc != MPI_SUCCESS)
            goto out;
        for (int i = 0; i < count; i++) {
            taken++;
            if (given < chunks) {
                given++;
                PL_TRY(hand_out(call, ready[i], send, posted));
            } else {
                PL_TRY(
                    MPI_Send(NULL, 0, MPI_BYTE, rank_of(call, ready[i]), TAG_ENOUGH, call->comm));
            }
        }
    }
out:
    return rc;
}

/* A message is asked for by MPI_ANY_SOURCE, and lands where its worker's results do. */
static int whoever(const struct pl_call *call, int workers, int *which, int *rc)
{
    MPI_Status status;
    (void)workers;
    *rc = MPI_Probe(MPI_ANY_SOURCE, TAG_RESULT, call->comm, &status);
    if (*rc != MPI_SUCCESS)
        return 0;
    which[0] = worker_of(call, status.MPI_SOURCE);
    *rc = MPI_Recv(slot(call, which[0]), call->recvcount, call->recvtype, status.MPI_SOURCE,
                   TAG_RESULT, call->comm, MPI_STATUS_IGNORE);
    return 1;
}

static int any(const struct pl_call *call, int workers, int *which, int *rc)
{
    (void)call;
    *rc = MPI_Waitany(workers, requests, which, MPI_STATUS_IGNORE);
    return 1;
}

static int some(const struct pl_call *call, int workers, int *which, int *rc)
{
    int count = 0;
    (void)call;
    *rc = MPI_Waitsome(workers, requests, &count, which, MPI_STATUSES_IGNORE);
    return count;
}

static void forget(void)
{
    free(requests);
    free(ready);
    requests = NULL;
    ready = NULL;
}

static int remember(const struct pl_call *call)
{
    int nprocs;
    MPI_Comm_size(call->comm, &nprocs);
    requests = malloc((size_t)nprocs * sizeof *requests);
    ready = malloc((size_t)nprocs * sizeof *ready);
    for (int i = 0; requests && i < nprocs; i++)
        requests[i] = MPI_REQUEST_NULL;
    return requests && ready ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int any_source(const struct pl_call *call)
{
    return hand_out_all(call, MPI_Send, whoever, false);
}

static int any_source_ssend(const struct pl_call *call)
{
    return hand_out_all(call, MPI_Ssend, whoever, false);
}

static int waitany(const struct pl_call *call)
{
    return hand_out_all(call, MPI_Send, any, true);
}

static int waitsome(const struct pl_call *call)
{
    return hand_out_all(call, MPI_Send, some, true);
}

#define PL_HANDED_OUT(symbol, text)                                                                \
    const struct pl_operation pl_operation_##symbol = {.name = #symbol,                            \
                                                       .pattern = &pl_pattern_master_worker,       \
                                                       .summary = text,                            \
                                                       .landing = PL_LANDS_SLOTS,                  \
                                                       .run = symbol,                              \
                                                       .begin = remember,                          \
                                                       .end = forget};

PL_HANDED_OUT(any_source, "MPI_Send to workers; MPI_Probe and MPI_Recv with MPI_ANY_SOURCE")
PL_HANDED_OUT(any_source_ssend, "the same with MPI_Ssend")
PL_HANDED_OUT(waitany, "MPI_Irecv of each worker's result before MPI_Send; MPI_Waitany")
PL_HANDED_OUT(waitsome, "MPI_Irecv of each worker's result before MPI_Send; MPI_Waitsome")
