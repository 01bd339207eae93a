/* A series: repetitions of one case that follow each other, and what they say together.
 *
 * Ranks time on their own; run times come into being after the last repetition, on rank 0, from
 * one exchange of all ranks. */
#ifndef PL_SERIES_H
#define PL_SERIES_H

#include "measure/arguments.h"
#include "measure/cache.h"
#include "measure/config.h"
#include "measure/cycle.h"
#include "measure/delay.h"
#include "sync/sync.h"
#include "use/use.h"

struct pl_series {
    const struct pl_plan *plan;
    const struct pl_config_state *configs;
    const struct pl_world *world;
    struct pl_buffers *buffers;
    struct pl_cache *cache;
    const struct pl_groups *groups;
    int group;             /* of the ranks in `world`; indexes a config's communicators */
    struct pl_delay delay; /* this rank's, where a case has a delay */

    struct pl_start *starts; /* one for each start scheme that cases of the group need */
    int start_count;
    const struct pl_case *c;       /* the case under way */
    struct pl_way way;             /* its */
    struct pl_start *start;        /* its, of `starts` */
    struct pl_arguments arguments; /* its */

    int room;                   /* repetitions that fit the arrays */
    int64_t *begin_ns, *end_ns; /* of each repetition, on this rank's timer */
    int64_t *values;            /* what ranks exchange: 3 room + 1 */
    unsigned char *validity;    /* enum pl_validity of each repetition */
    int64_t budget_ns;          /* of the case in this block, from its first sample on */
    struct pl_cycle cycle;      /* where the plan asks for cycles */
    int64_t *seen;              /* rank 0: what a case has taken until it has settled */
    int64_t *by_rank;           /* rank 0, where cases ask for it: room a rank */
    int64_t *windows; /* by case of the plan: window_ns of its starts; 0: not chosen yet */

    /* What pl_series_run found; on rank 0. `ns` holds `warmup` values and then `count` samples of
     * valid repetitions; of a stream, one sample; of a cycle, one sample behind all repetitions. */
    int64_t *ns;
    int64_t timed_ns; /* all that was timed */
    /* Of a case with `by_rank`: the samples as each rank timed them, `count` a rank, those of rank
     * r from r (room + 1) on; NULL: it did not ask. */
    const int64_t *ranks_ns;
    int warmup, count;
    int late, overrun;
    bool settled; /* the last repetitions were as those before them, as far as that was asked */
    bool budget_spent; /* the time limit ended the series early: on all ranks */
    int failures;      /* calls that returned an error */
    int unready;       /* 1: what a series needs could not be made on this rank */
};

/* Collective. `room`: the longest series, without what lets a case settle. `common`: what all start
 * schemes work with; their own fields are empty. False: memory is short on some rank. The fields
 * above `starts` are the caller's. */
bool pl_series_open(struct pl_series *series, int64_t room, const struct pl_start *common);
void pl_series_close(struct pl_series *series);

/* Sets up a case for a block: arguments, data, start scheme, budget. Collective. */
void pl_series_begin(struct pl_series *series, const struct pl_case *c, int block);

/* When a case has had its samples of the block: what it keeps for a series is given back. */
void pl_series_end(struct pl_series *series);

/* `warmup` repetitions and then `reps` (together at most `room`), timed alike; where the plan asks
 * for cycles and ranks meet before each repetition, as many as there are until one is found, and
 * its mean. Collective. May be called again for the same case; results are those of the last call.
 */
void pl_series_run(struct pl_series *series, int warmup, int reps);

/* The same for the first block of a case: again and again, with a group of calls to warm up, while
 * its times fall (measure/settle.h). What was taken before the last time is warm-up. */
void pl_series_settle(struct pl_series *series, int warmup, int reps);

#endif
