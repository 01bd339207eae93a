/* How long a run takes where some calls take no time, and everything else what it took: what a rank
 * does between its calls, and who waits for whom (detect/analysis.py). */
#include "store.h"

#include <stdbool.h>

/* By moment: 2 · event where it begins, 2 · event + 1 where it ends, in the order of time. By
 * event: its rank, when it was begun, when the call that ended it was entered and left, what else
 * has to have begun before (-1: nothing), and whether it takes no time. By rank: its begin and end.
 */
struct recorded_run {
    int64_t moments, ranks, events;
    const int64_t *at, *rank, *post, *start, *end, *behind, *gone, *begins, *ends;
};

/* Of each rank a time that was recorded, and the one that it has become. */
struct rank_times {
    int64_t *recorded, *now, *begun; /* `begun`: by event */
};

/* What was recorded until then takes as long as it took. */
static void go_to(const struct rank_times *times, int64_t rank, int64_t time)
{
    if (time <= times->recorded[rank])
        return;
    times->now[rank] += time - times->recorded[rank];
    times->recorded[rank] = time;
}

static void end(const struct recorded_run *run, const struct rank_times *times, int64_t event,
                bool is_gone)
{
    const int64_t rank = run->rank[event], other = run->behind[event];
    go_to(times, rank, run->start[event]);
    if (other >= 0) { /* waiting: as long as it is needed now */
        const int64_t until =
            run->post[other] < run->end[event] ? run->post[other] : run->end[event];
        if (times->now[rank] < times->begun[other])
            times->now[rank] = times->begun[other];
        if (times->recorded[rank] < until)
            times->recorded[rank] = until;
    }
    if (is_gone && times->recorded[rank] < run->end[event])
        times->recorded[rank] = run->end[event];
    go_to(times, rank, run->end[event]);
}

/* When the last rank ends. */
static int64_t last(struct pl_store *store, const struct recorded_run *run, bool with_all)
{
    const size_t ranks = (size_t)run->ranks, events = (size_t)run->events;
    const struct rank_times times = {pl_get(store, ranks, sizeof(int64_t)),
                                     pl_get(store, ranks, sizeof(int64_t)),
                                     pl_get(store, events, sizeof(int64_t))};
    int64_t found = INT64_MIN;
    for (int64_t rank = 0; rank < run->ranks; rank++)
        times.recorded[rank] = times.now[rank] = run->begins[rank];
    for (int64_t i = 0; i < run->moments; i++) {
        const int64_t event = run->at[i] / 2;
        if (run->at[i] % 2) {
            end(run, &times, event, !with_all && run->gone[event]);
        } else {
            go_to(&times, run->rank[event], run->post[event]);
            times.begun[event] = times.now[run->rank[event]];
        }
    }
    for (int64_t rank = 0; rank < run->ranks; rank++) {
        go_to(&times, rank, run->ends[rank]);
        found = times.now[rank] > found ? times.now[rank] : found;
    }
    return found;
}

static void shorten(struct pl_answer *answer, const void *pointer)
{
    int64_t *found = pl_get(answer->store, 2, sizeof *found);
    found[0] = last(answer->store, pointer, true);
    found[1] = last(answer->store, pointer, false);
    pl_answer_with(answer, found, 2);
}

/* When the run ends: as it was, and with what is gone. */
PL_ENTRY struct pl_answer *pl_shortened(const struct recorded_run *run)
{
    return pl_answered(shorten, run);
}
