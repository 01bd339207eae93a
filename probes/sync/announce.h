/* Starts at a time on the global clock. Rank 0 announces a time that lies so far ahead that the
 * announcement has reached everybody by then; each rank waits for it on its own timer. */
#ifndef PL_ANNOUNCE_H
#define PL_ANNOUNCE_H

#include "sync/sync.h"

struct pl_announce {
    int64_t cost_ns;  /* of an announcement, measured */
    int64_t slack_ns; /* how far ahead rank 0 announces */
};

/* Collective: measures what an announcement costs. */
void pl_announce_open(struct pl_announce *announce, const struct pl_start *start);

/* Collective: rank 0's `extra` to all ranks, and a global time ahead of now. False, on all ranks,
 * when the budget is used up. */
bool pl_announce_next(const struct pl_announce *announce, const struct pl_start *start,
                      int64_t *global_ns, int64_t *extra);

/* Rank 0, after each announcement: one that came late lengthens the slack, others shorten it again.
 */
void pl_announce_learn(struct pl_announce *announce, bool late);

/* Waits until this rank's timer stands at the global time. False: it had passed before. */
bool pl_announce_wait(const struct pl_start *start, int64_t global_ns);

#endif
