/* What happens when on a rank: calls, computation, empty words, and when messages arrive. Into
 * memory that is there before anything is timed; two readings of the clock an event. A NULL trace
 * records nothing.
 *
 * Nobody is told when a message arrives. So the last byte of each that is expected is set to 0
 * before its receive is posted, a value that none sends, and looked at after every event and
 * between pieces of computation: the event "arrival" begins at the last look without, and ends at
 * the first with the data. */
#ifndef PL_TRACE_H
#define PL_TRACE_H

#include "clock/clock.h"
#include "clock/model.h"

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PL_TRACE_EVENTS = 1 << 16,
    PL_TRACE_NAME = 32,
    PL_TRACE_EXPECTED = 256, /* messages at a time; those beyond are not looked for */
    PL_TRACE_LOOK_NS = 5000  /* of work between two looks */
};

#define PL_TRACE_FULL "full" /* the last event there is room for: what follows is not known */

struct pl_event {
    int64_t begin_ns, end_ns;
    char name[PL_TRACE_NAME];
    int peer;   /* the rank on the other side; -1: none, or several */
    int number; /* of an arrival: which message from that rank, from 0 in each repetition */
    int triple, part;
};

struct pl_expected {
    volatile const char *byte;
    int peer, number;
    int64_t missed_ns; /* the last look without */
};

struct pl_trace {
    const struct pl_clock *clock;
    struct pl_event *events; /* PL_TRACE_EVENTS */
    int count;
    int triple, part;
    struct pl_expected expected[PL_TRACE_EXPECTED];
    int expected_count;
    int *posted; /* receives from each rank in this repetition */
    int ranks;
};

bool pl_trace_open(struct pl_trace *trace, const struct pl_clock *clock,
                   int ranks); /* false: no memory */
void pl_trace_close(struct pl_trace *trace);

/* What follows is of this repetition; nothing is expected any more. */
void pl_trace_enter(struct pl_trace *trace, int triple, int part);

/* An event is over now, and what is expected is looked at. */
void pl_trace_add(struct pl_trace *trace, const char *name, int peer, int64_t begin_ns);
/* The same of what the library does inside a call, when nothing is looked at. */
void pl_trace_inside(struct pl_trace *trace, const char *name, int64_t begin_ns);
/* Where system calls of this thread go (system_calls.c); NULL: nowhere. */
extern _Thread_local struct pl_trace *pl_trace_of_calls;
/* Before the receive is posted. */
void pl_trace_expect_byte(struct pl_trace *trace, char *byte, int peer);
void pl_trace_look(struct pl_trace *trace);

/* Stamps of this rank's timer become those of the clock that the model leads to. */
void pl_trace_globalise(struct pl_trace *trace, const struct pl_model *model);
/* The events of one rank to another, where they take the place of what was there. */
void pl_trace_send(const struct pl_trace *trace, int to, int tag, MPI_Comm comm);
void pl_trace_receive(struct pl_trace *trace, int from, int tag, MPI_Comm comm);

static inline int64_t pl_trace_start(const struct pl_trace *trace)
{
    return trace ? trace->clock->now_ns() : 0;
}

static inline void pl_trace_stop(struct pl_trace *trace, const char *name, int peer,
                                 int64_t begin_ns)
{
    if (trace)
        pl_trace_add(trace, name, peer, begin_ns);
}

static inline void pl_trace_expect(struct pl_trace *trace, char *byte, int peer)
{
    if (trace)
        pl_trace_expect_byte(trace, byte, peer);
}

#endif
