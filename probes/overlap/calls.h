/* What benchmarks are made of: the calls of a side, and its computation. */
#ifndef PL_CALLS_H
#define PL_CALLS_H

#include "overlap/trace.h"
#include "overlap/work.h"
#include <mpi.h>

enum { PL_TAG_READY = 1, PL_TAG_DATA, PL_TAG_DONE };

/* Which of the three times of a cell a repetition takes. */
enum pl_part {
    PL_PART_COMMUNICATION, /* blocking calls, nothing is computed */
    PL_PART_COMPUTATION,   /* no message */
    PL_PART_BOTH,
    PL_PART_COUNT
};

struct pl_collective; /* collective.h */

enum pl_layout { PL_LAYOUT_CONTIGUOUS, PL_LAYOUT_VECTOR, PL_LAYOUT_STRUCTURE };

struct pl_thread_pool;

/* What a rank exchanges, and computes beside it. A block is `requests` messages, one after the
 * other, `extent` bytes each; `out` and `in` hold one block, or one for each rank. `pending` has
 * room for the requests of a block for each rank. */
struct pl_exchange {
    MPI_Comm comm;
    int rank, size; /* of `comm` */
    int peer;       /* of a pair */
    MPI_Datatype type;
    int count;
    size_t extent, last; /* `last`: bytes of it up to the last one that is sent */
    int requests;
    char *out, *in;
    MPI_Request *pending;
    const struct pl_clock *clock;
    struct pl_work *work;
    enum pl_kernel kernel;
    int64_t units, test_units;        /* of the computation; between two MPI_Test (0: none) */
    uint64_t seed;                    /* of the data */
    struct pl_collective *collective; /* of that benchmark */
    struct pl_thread_pool *pool; /* overlap/thread_pool.h: of this rank, with `threads` or more */
    int threads;
    enum pl_part part;
    struct pl_trace *trace; /* NULL: nobody looks */
    int64_t look_units;     /* between two looks for messages, where there is a trace */
};

/* With a trace, in pieces, also where nothing is expected: communication does not change them. */
static inline void pl_work_piece(const struct pl_exchange *exchange, int64_t units)
{
    int64_t begin = pl_trace_start(exchange->trace);
    while (exchange->trace && units > exchange->look_units) {
        pl_work_do(exchange->work, exchange->kernel, exchange->look_units);
        pl_trace_look(exchange->trace);
        units -= exchange->look_units;
    }
    pl_work_do(exchange->work, exchange->kernel, units);
    pl_trace_stop(exchange->trace, "computation", -1, begin);
}

static inline size_t pl_block_extent(const struct pl_exchange *exchange)
{
    return (size_t)exchange->requests * exchange->extent;
}

/* Block `rank` of `out` or `in`. */
static inline char *pl_block_of(const struct pl_exchange *exchange, char *blocks, int rank)
{
    return blocks + (size_t)rank * pl_block_extent(exchange);
}

/* The work of an exchange while `count` requests are under way, in pieces where the library is to
 * be asked between them. The pieces are the same without communication. */
static inline void pl_compute(const struct pl_exchange *exchange, MPI_Request *pending, int count)
{
    int64_t step = exchange->test_units > 0 ? exchange->test_units : exchange->units;
    for (int64_t left = exchange->units; left > 0; left -= step) {
        pl_work_piece(exchange, left < step ? left : step);
        if (count > 0 && exchange->test_units > 0) {
            int done;
            int64_t begin = pl_trace_start(exchange->trace);
            if (count == 1)
                MPI_Test(pending, &done, MPI_STATUS_IGNORE);
            else
                MPI_Testall(count, pending, &done, MPI_STATUSES_IGNORE);
            pl_trace_stop(exchange->trace, count == 1 ? "MPI_Test" : "MPI_Testall", -1, begin);
        }
    }
}

static inline void pl_wait(const struct pl_exchange *exchange, MPI_Request *pending, int count)
{
    int64_t begin = pl_trace_start(exchange->trace);
    if (count == 1)
        MPI_Wait(pending, MPI_STATUS_IGNORE);
    else
        MPI_Waitall(count, pending, MPI_STATUSES_IGNORE);
    pl_trace_stop(exchange->trace, count == 1 ? "MPI_Wait" : "MPI_Waitall", -1, begin);
}

/* Empty messages, which say that a receive is posted or data have come. Not of the application: the
 * profiling interface does not see them. */
static inline void pl_signal_to(const struct pl_exchange *exchange, int rank, int tag)
{
    int64_t begin = pl_trace_start(exchange->trace);
    PMPI_Send(NULL, 0, MPI_BYTE, rank, tag, exchange->comm);
    pl_trace_stop(exchange->trace, "signal", rank, begin);
}

static inline void pl_await_from(const struct pl_exchange *exchange, int rank, int tag)
{
    int64_t begin = pl_trace_start(exchange->trace);
    PMPI_Recv(NULL, 0, MPI_BYTE, rank, tag, exchange->comm, MPI_STATUS_IGNORE);
    pl_trace_stop(exchange->trace, "await", rank, begin);
}

static inline void pl_signal(const struct pl_exchange *exchange, int tag)
{
    pl_signal_to(exchange, exchange->peer, tag);
}

static inline void pl_await(const struct pl_exchange *exchange, int tag)
{
    pl_await_from(exchange, exchange->peer, tag);
}

/* The messages of one block to `rank`, or from it: blocking, or begun and put at `pending`. */
static inline void pl_send(const struct pl_exchange *exchange, const char *block, int rank)
{
    for (int i = 0; i < exchange->requests; i++) {
        int64_t begin = pl_trace_start(exchange->trace);
        MPI_Send(block + (size_t)i * exchange->extent, exchange->count, exchange->type, rank,
                 PL_TAG_DATA, exchange->comm);
        pl_trace_stop(exchange->trace, "MPI_Send", rank, begin);
    }
}

static inline void pl_isend(const struct pl_exchange *exchange, const char *block, int rank,
                            MPI_Request *pending)
{
    for (int i = 0; i < exchange->requests; i++) {
        int64_t begin = pl_trace_start(exchange->trace);
        MPI_Isend(block + (size_t)i * exchange->extent, exchange->count, exchange->type, rank,
                  PL_TAG_DATA, exchange->comm, &pending[i]);
        pl_trace_stop(exchange->trace, "MPI_Isend", rank, begin);
    }
}

static inline void pl_irecv(const struct pl_exchange *exchange, char *block, int rank,
                            MPI_Request *pending)
{
    for (int i = 0; i < exchange->requests; i++) {
        char *message = block + (size_t)i * exchange->extent;
        if (exchange->last > 0)
            pl_trace_expect(exchange->trace, message + exchange->last - 1, rank);
        int64_t begin = pl_trace_start(exchange->trace);
        MPI_Irecv(message, exchange->count, exchange->type, rank, PL_TAG_DATA, exchange->comm,
                  &pending[i]);
        pl_trace_stop(exchange->trace, "MPI_Irecv", rank, begin);
    }
}

/* The sender's side of a pair, and the receiver's, which is ready first and says so. */
static inline void pl_send_beside(const struct pl_exchange *exchange)
{
    if (exchange->part == PL_PART_COMMUNICATION) {
        pl_send(exchange, exchange->out, exchange->peer);
        return;
    }
    pl_isend(exchange, exchange->out, exchange->peer, exchange->pending);
    pl_compute(exchange, exchange->pending, exchange->requests);
    pl_wait(exchange, exchange->pending, exchange->requests);
}

static inline void pl_receive_beside(const struct pl_exchange *exchange, bool compute)
{
    pl_irecv(exchange, exchange->in, exchange->peer, exchange->pending);
    pl_signal(exchange, PL_TAG_READY);
    if (compute)
        pl_compute(exchange, exchange->pending, exchange->requests);
    pl_wait(exchange, exchange->pending, exchange->requests);
}

#endif
