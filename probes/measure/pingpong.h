/* Round trips between two ranks: the point-to-point base of cost models. For each class of pairs
 * that the launch has (system/seat.h) one pair, drawn by the seed, sends every message size of the
 * plan's pingpong lines to and fro; sizes and classes in random order. Only the two ranks of a pair
 * run then: all others sleep. */
#ifndef PL_PINGPONG_H
#define PL_PINGPONG_H

#include "record.h"
#include "system/seat.h"

/* One pair of each class that occurs among the seats of `nprocs` ranks, each as likely as the
 * other: chosen[class] = {first, second}, {-1, -1} where there is none. Pure. */
void pl_pingpong_choose(const struct pl_seat *seats, int nprocs, uint64_t seed,
                        int chosen[PL_PAIR_CLASSES][2]);

/* Collective. `seat` is this rank's. NULL, or what went wrong, on all ranks. `timed_ns` (rank 0) is
 * raised by what was timed. */
const char *pl_pingpong_run(const struct pl_plan *plan, const struct pl_world *world,
                            const struct pl_seat *seat, struct pl_record *record,
                            int64_t *timed_ns);

#endif
