/* What kernel and processor count while a case runs: of the thread that makes the calls, summed
 * over ranks. Read outside the timed region, so warm-up and start scheme are counted too, and
 * what the probe does between two cases of a block.
 *
 * Context switches come from getrusage. Migrations between processors come from perf_event_open, or
 * from /proc/self/sched where that is refused. Events of the processor come through PAPI. What some
 * rank cannot count is left out on all; the factors say why. */
#ifndef PL_COUNTERS_H
#define PL_COUNTERS_H

#include "measure/world.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    PL_COUNTER_VOLUNTARY,
    PL_COUNTER_INVOLUNTARY,
    PL_COUNTER_MIGRATIONS,
    PL_COUNTER_EVENTS, /* the first event of PAPI (measure/events.h) */
    PL_COUNTERS = PL_COUNTER_EVENTS + 7
};

struct pl_counters {
    bool counted[PL_COUNTERS]; /* on all ranks */
    int migrations_file;       /* from perf_event_open; -1: none */
    bool migrations_in_sched;  /* /proc/self/sched has them */
    char migrations_missing[256];
    struct pl_events *events; /* NULL: none; events_missing says why */
    char events_missing[256];
    int64_t at[PL_COUNTERS];     /* when they were read last */
    int64_t values[PL_COUNTERS]; /* on rank 0 after pl_counters_next: sums since the read before */
};

/* Collective. Never fails: what cannot be counted is missing. */
void pl_counters_open(struct pl_counters *counters, const struct pl_world *world);
void pl_counters_close(struct pl_counters *counters);

void pl_counters_start(struct pl_counters *counters);
/* Collective: one message a rank. The end of a case is the start of the next one. */
void pl_counters_next(struct pl_counters *counters, const struct pl_world *world);
const char *pl_counter_name(int counter);

/* Where migrations come from, and which events there are, on this rank; or why not. */
void pl_counters_migrations(const struct pl_counters *counters, char *text, size_t size,
                            char *missing, size_t missing_size);
void pl_counters_hardware(const struct pl_counters *counters, char *text, size_t size,
                          char *missing, size_t missing_size);

#endif
