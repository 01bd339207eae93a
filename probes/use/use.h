/* Ways of use: in which surroundings a call is timed, and what of all ranks' times is a sample. One
 * a file; uses.def lists them; a case names one (`use=`), or the plan does for its cases that
 * name none. Where neither does, a case is started by the plan's start scheme and timed by its run
 * time. */
#ifndef PL_USE_H
#define PL_USE_H

#include "plan.h"

/* What of all ranks' times is a sample. */
enum pl_span {
    PL_SPAN_LONGEST,       /* the largest of the ranks' own times */
    PL_SPAN_MEAN,          /* their mean */
    PL_SPAN_ROOT,          /* the root's own time; rank 0's, where there is no root */
    PL_SPAN_FIRST_TO_LAST, /* from the first start to the last end, on the global clock */
    PL_SPAN_LAST_TO_LAST,  /* from the last start to the last end, on the global clock */
};

struct pl_use {
    const char *name;
    const char *summary;
    /* How repetitions start; NULL: by the plan's own scheme if that starts on the global clock,
     * else in windows. */
    const struct pl_sync *scheme;
    enum pl_span span;
    bool
        stream; /* a series is one start, calls that are not timed, and one timer around the rest */
};

extern const struct pl_use *const pl_uses[];
extern const int pl_use_count;

/* How a case is measured: by its use or, without one, as the plan says. */
struct pl_way {
    const struct pl_sync *scheme;
    enum pl_span span;
    bool stream;
};

struct pl_way pl_way_of(const struct pl_plan *plan, const struct pl_case *c);

/* `count` calls of a case, `wait` rounds of its planted delay after each and nothing else between
 * them: what they take together on this rank's timer. Failed calls are added to `failures`. */
int64_t pl_stream_run(const struct pl_clock *clock, const struct pl_case *c,
                      const struct pl_call *call, int64_t wait, int count, int64_t *failures);

static inline bool pl_span_is_global(enum pl_span span)
{
    return span == PL_SPAN_FIRST_TO_LAST || span == PL_SPAN_LAST_TO_LAST;
}

#endif
