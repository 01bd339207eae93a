/* How many repetitions a case takes: those of its line in every block or, under a stopping rule,
 * what the rule asks for in rounds. A round is a block: it takes the next repetitions of every case
 * that is not at its end, in fresh random order, so that drift of the machine hits all cases alike.
 */
#ifndef PL_ROUNDS_H
#define PL_ROUNDS_H

#include "measure/series.h"
#include "record.h"

struct pl_tally {
    int blocks, taken; /* blocks, and repetitions asked for, on all ranks */
    int valid, late;   /* samples, and repetitions that the start scheme refused; rank 0 */
    int count, room;   /* samples kept so far, on rank 0 */
    int64_t *ns;       /* of them, in the order in which they were taken */
    int64_t spent_ns;  /* time that this case has taken, start scheme and exchange too */
};

struct pl_rounds {
    const struct pl_plan *plan;
    const struct pl_world *world;
    struct pl_record *record;
    struct pl_tally *tallies; /* by case of the plan */
    double *values;           /* room for the criteria */
    int value_room;
    bool failed; /* memory ran short, on rank 0 */
};

/* Collective. False: memory is short on some rank. */
bool pl_rounds_open(struct pl_rounds *rounds, const struct pl_plan *plan,
                    const struct pl_world *world, struct pl_record *record);
void pl_rounds_close(struct pl_rounds *rounds);

/* Repetitions of the case in its next block; equal on all ranks. */
int pl_rounds_next(const struct pl_rounds *rounds, int index);

/* What the blocks of the case have used up of its budget, on rank 0: without a rule every block has
 * a budget of its own. */
int64_t pl_rounds_spent(const struct pl_rounds *rounds, int index);

/* After the block of a case: what it took. */
void pl_rounds_add(struct pl_rounds *rounds, int index, int reps, const struct pl_series *series,
                   int64_t spent_ns);

/* After a block, collective: rank 0 looks at each case and records those that are at their end;
 * they leave `cases` on all ranks. Returns how many are left; without a rule all of them. */
int pl_rounds_settle(struct pl_rounds *rounds, int *cases, int count);

/* After the last block: whose times have fallen since the first blocks is recorded, but not where
 * so many have that it is the machine that has become faster. Collective. False: memory is short.
 */
bool pl_rounds_transits(struct pl_rounds *rounds, const int *cases, int count);

/* The longest series of a launch, without warm-up. */
int pl_rounds_longest(const struct pl_plan *plan);

#endif
