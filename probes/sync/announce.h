/* Starts at a time on the global clock. Rank 0 announces a time that lies so far ahead that the
 * announcement has reached everybody by then; each rank waits for it on its own timer. */
#ifndef PL_ANNOUNCE_H
#define PL_ANNOUNCE_H

#include "sync/sync.h"

struct pl_announce {
    int64_t cost_ns;    /* of an announcement, measured */
    int64_t slack_ns;   /* how far ahead rank 0 announces */
    int64_t longest_ns; /* it never is more */
    int64_t late_ns;    /* a start that lies further behind the announced time is not valid */
};

/* How a rank came to its start; larger is worse. */
enum pl_arrival {
    PL_IN_TIME,
    PL_OVERSHOT, /* it was there in time, and lost its core while it waited */
    PL_MISSED,   /* the time had passed before it was there */
};

/* Collective: measures what an announcement costs. */
void pl_announce_open(struct pl_announce *announce, const struct pl_start *start);

/* Collective: rank 0's `extra` to all ranks, and a global time ahead of now. False, on all ranks,
 * when the budget is used up. */
bool pl_announce_next(const struct pl_announce *announce, const struct pl_start *start,
                      int64_t *global_ns, int64_t *extra);

/* Rank 0, after each announcement: one that was missed lengthens the slack, others shorten it
 * again. */
void pl_announce_learn(struct pl_announce *announce, bool missed);

/* Waits until this rank's timer stands at the global time. */
enum pl_arrival pl_announce_wait(const struct pl_announce *announce, const struct pl_start *start,
                                 int64_t global_ns);

#endif
