/* How the ranks start a repetition together. One scheme a file; syncs.def lists them; the plan
 * names one. What a scheme sends is point-to-point on communicators of the probe's own. */
#ifndef PL_SYNC_H
#define PL_SYNC_H

#include "clock/clock.h"
#include "clock/model.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct pl_arrivals; /* use/arrivals.h */
struct pl_world;
struct pl_sync;

/* What a scheme works with, for as long as the launch lasts. */
struct pl_start {
    const struct pl_sync *scheme;
    const struct pl_world *world;
    const struct pl_clock *clock;
    const struct pl_model *global;      /* from this rank's timer to the global clock */
    bool crowded;                       /* more ranks than processing units: who waits gives way */
    int64_t window_ns;                  /* the plan's, or the one in use; 0: to be chosen */
    int64_t least_window_ns;            /* the plan's window; 0: it has none */
    const struct pl_arrivals *arrivals; /* the plan's */
    uint64_t seed;                      /* the plan's */
    int block;                          /* under way */
    int64_t budget_end_ns; /* rank 0's timer: no repetition of this case starts later */
    void *own;             /* of the scheme */
};

/* What `finish` says of a repetition. */
enum pl_validity { PL_VALID = 0, PL_OVERRUN = 1, PL_LATE = 2 /* no result */ };

struct pl_sync {
    const char *name;
    const char *summary;
    bool global_clock; /* starts by the global clock */
    bool budget;       /* `start` heeds budget_end_ns */
    bool windows;      /* starts lie window_ns apart; where it is 0, `begin` finds one */
    bool arrivals;     /* ranks start up to window_ns apart, which `begin` finds */
    bool meets;        /* no rank begins before all have come */
    bool repeats;      /* `finish` answers alike on all ranks: what is invalid is repeated */

    /* Once a launch, collective; NULL where there is nothing to do. False: out of memory. */
    bool (*open)(struct pl_start *start);
    void (*close)(struct pl_start *start);
    /* Before the repetitions of a case in a block, collective; may be NULL. `estimate_ns`: about
     * what a repetition takes, equal on all ranks; only where window_ns is to be found, else 0. */
    void (*begin)(struct pl_start *start, int64_t estimate_ns);
    /* Collective; true when this rank may begin; false, on all ranks alike, when the budget is
     * used up. */
    bool (*start)(struct pl_start *start);
    /* After the repetition that ran from `begin_ns` to `end_ns` on this rank's timer; may be NULL.
     */
    enum pl_validity (*finish)(struct pl_start *start, int64_t begin_ns, int64_t end_ns);
    /* After the last repetition of a series, collective; may be NULL. */
    void (*end)(struct pl_start *start);
};

#define PL_SYNC(name) extern const struct pl_sync pl_sync_##name;
#include "sync/syncs.def"
#undef PL_SYNC

extern const struct pl_sync *const pl_syncs[];
extern const int pl_sync_count;

#endif
