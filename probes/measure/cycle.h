/* Repetitions until they repeat themselves, on a machine that is simulated. Ranks that come from a
 * call through a barrier to the next call are a system of maxima and sums, which ends in a cycle
 * after finitely many steps (Baccelli, Cohen, Olsder, Quadrat, Synchronization and Linearity, 1992,
 * chapter 3): mostly every repetition takes as long as the one before, sometimes times alternate.
 * Messages that share links are no such system; among many of them times may wander for ever.
 *
 * Ranks of a simulation share a process, and what one writes the others read without a message,
 * which would disturb what is measured: a board holds the largest of their times. */
#ifndef PL_CYCLE_H
#define PL_CYCLE_H

#include "measure/world.h"

#include <stdbool.h>

#define PL_CYCLE_LONGEST 4 /* repetitions of a cycle */

struct pl_cycle {
    int most;       /* repetitions; 0: there is no board */
    bool mine;      /* the board is freed by this rank */
    int64_t *board; /* by repetition */
};

/* Collective, on a simulated machine alone. False: memory is short. */
bool pl_cycle_open(struct pl_cycle *cycle, const struct pl_world *world, int most);
void pl_cycle_close(struct pl_cycle *cycle);

/* Before the ranks meet for the first repetition. */
void pl_cycle_begin(struct pl_cycle *cycle);

/* What the repetition `number` has taken on this rank. */
void pl_cycle_add(struct pl_cycle *cycle, int number, int64_t ns);

/* The length of the cycle that `count` repetitions end with; 0: none yet. The same on all ranks, if
 * all have added them. */
int pl_cycle_found(const struct pl_cycle *cycle, int count);

#endif
