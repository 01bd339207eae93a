/* One repetition that rank 0 announces, and of which all ranks say afterwards whether they were
 * there in time. */
#ifndef PL_ROUND_H
#define PL_ROUND_H

#include "sync/announce.h"

struct pl_round {
    struct pl_announce announce;
    enum pl_arrival arrival;
};

/* Collective: announces a time, and waits until `offset_ns` after it, on this rank. False, on all
 * ranks, when the budget is used up. */
bool pl_round_start(struct pl_round *round, struct pl_start *start, int64_t offset_ns);

/* Collective: PL_VALID where every rank was in time, else PL_LATE. */
enum pl_validity pl_round_finish(struct pl_round *round, struct pl_start *start);

#endif
