/* An overlap benchmark: what two ranks do in one repetition (A. Denis, F. Trahay, "MPI Overlap:
 * Benchmark and Analysis", ICPP 2016, section III.D). One a file; benches.def lists them. */
#ifndef PL_BENCH_H
#define PL_BENCH_H

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

enum pl_layout { PL_LAYOUT_CONTIGUOUS, PL_LAYOUT_VECTOR, PL_LAYOUT_STRUCTURE };

/* What a side works with. */
struct pl_round {
    MPI_Comm comm;
    int peer;
    MPI_Datatype type;
    int count;
    char *out, *in;
    const struct pl_clock *clock;
    struct pl_work *work;
    enum pl_kernel kernel;
    int64_t units, test_units; /* of the computation; between two MPI_Test (0: none) */
    enum pl_part part;
};

/* The measured time is (that of the sequence - `latencies` times that of an empty message) /
 * `halves`. Rank 0 is the active side, and takes the time. */
struct pl_bench {
    const char *name, *summary;
    enum pl_layout layout;
    int latencies, halves;
    bool to_active; /* data go to the active side too, or alone */
    bool to_passive;
    int64_t (*active)(const struct pl_round *round); /* nanoseconds */
    void (*passive)(const struct pl_round *round);
};

#define PL_OVERLAP(name) extern const struct pl_bench pl_overlap_##name;
#include "overlap/benches.def"
#undef PL_OVERLAP

extern const struct pl_bench *const pl_benches[];
extern const int pl_bench_count;

/* NULL: no such name. */
const struct pl_bench *pl_bench_by_name(const char *name);

/* The work of a round while `request` is under way (NULL: none), in pieces where the library is
 * to be asked between them. The pieces are the same without communication. */
static inline void pl_compute(const struct pl_round *round, MPI_Request *request)
{
    int64_t step = round->test_units > 0 ? round->test_units : round->units;
    for (int64_t left = round->units; left > 0; left -= step) {
        pl_work_do(round->work, round->kernel, left < step ? left : step);
        if (request && round->test_units > 0) {
            int done;
            MPI_Test(request, &done, MPI_STATUS_IGNORE);
        }
    }
}

/* Empty messages, which say that a receive is posted or data have come. Not of the application: the
 * profiling interface does not see them. */
static inline void pl_signal(const struct pl_round *round, int tag)
{
    PMPI_Send(NULL, 0, MPI_BYTE, round->peer, tag, round->comm);
}

static inline void pl_await(const struct pl_round *round, int tag)
{
    PMPI_Recv(NULL, 0, MPI_BYTE, round->peer, tag, round->comm, MPI_STATUS_IGNORE);
}

/* The sender's side of a message, and the receiver's, which is ready first and says so. */
static inline void pl_send_beside(const struct pl_round *round)
{
    if (round->part == PL_PART_COMMUNICATION) {
        MPI_Send(round->out, round->count, round->type, round->peer, PL_TAG_DATA, round->comm);
        return;
    }
    MPI_Request request;
    MPI_Isend(round->out, round->count, round->type, round->peer, PL_TAG_DATA, round->comm,
              &request);
    pl_compute(round, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static inline void pl_receive_beside(const struct pl_round *round, bool compute)
{
    MPI_Request request;
    MPI_Irecv(round->in, round->count, round->type, round->peer, PL_TAG_DATA, round->comm,
              &request);
    pl_signal(round, PL_TAG_READY);
    if (compute)
        pl_compute(round, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

#endif
