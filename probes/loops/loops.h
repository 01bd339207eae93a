/* What the files of this program share: a case, the times of a loop over it. */
#ifndef PLUMBLINE_LOOPS_LOOPS_H
#define PLUMBLINE_LOOPS_LOOPS_H

#include <mpi.h>
#include <stdbool.h>

/* The arguments of one call, on this rank. */
struct pl_loop_call {
    void *send, *recv;
    int count;               /* of the vector, of one block, or of this rank's own part */
    int *counts, *displs;    /* of all parts */
    int *same, *same_displs; /* of what every rank sends this one, in MPI_Alltoallv */
    MPI_Datatype type;
    MPI_Op op;
    int root;
};

struct pl_loop_function;

/* FUNCTION:BYTES[:TYPE[:OP]][:COUNTS]. `text` is what the user wrote, `moved` the bytes that it
 * comes to in whole elements and blocks, `room` what a buffer must hold of it. */
struct pl_loop_case {
    const char *text;
    const struct pl_loop_function *function;
    long long bytes, elements, moved, room;
    int type, op; /* places in tables of case.c; op -1: none */
    int counts;   /* how the elements are shared among the ranks: a place there, too */
};

/* Seconds of one call. `value` is what the loop reports; `least` and `most` are over ranks (osu,
 * imb, stream) or over iterations (barrier, synchronised). `why`: no times, for this reason. */
struct pl_loop_times {
    double value, least, most;
    int iterations;
    const char *why;
};

/* `budget`: seconds for the calls of a case in a loop, by which they may be fewer; 0: none. */
struct pl_loop_plan {
    int iterations, warmup;
    double budget;
};

struct pl_loop {
    const char *name, *summary;
    struct pl_loop_times (*run)(const struct pl_loop_plan *plan, const struct pl_loop_case *c,
                                const struct pl_loop_call *call);
};

extern const struct pl_loop pl_loops[];
extern const int pl_loop_count;

/* NULL, or what is wrong with `text`. */
const char *pl_loop_parse(const char *text, int nprocs, struct pl_loop_case *c);

/* Buffers that fit all cases; false where there is no memory. */
bool pl_loop_buffers(const struct pl_loop_case *cases, int count, struct pl_loop_call *call);
void pl_loop_free(struct pl_loop_call *call);

/* The arguments of `c`, in those buffers, with data to send. */
void pl_loop_prepare(const struct pl_loop_case *c, struct pl_loop_call *call);

/* The plain call, as an application makes it. */
void pl_loop_make(const struct pl_loop_case *c, const struct pl_loop_call *call);

/* Names of functions, types, operators and count shapes, for the help. */
void pl_loop_names(void);

#endif
