/* How many repetitions a case takes: those of its line in every block or, under a stopping rule,
 * what the rule asks for in rounds. A round is a block: it takes the next repetitions of every case
 * that is not at its end, in fresh random order, so that drift of the machine hits all cases alike.
 */
#ifndef PL_ROUNDS_H
#define PL_ROUNDS_H

#include "measure/counters.h"
#include "measure/series.h"
#include "record.h"

struct pl_times {
    int count, room;
    int64_t *ns; /* in the order in which they were taken */
};

/* A block of a case. `warmups` and `samples` are numbers of times; `counts`: see counters.h. */
struct pl_note {
    int block, warmups, samples, late, overrun;
    int64_t window_ns;
    bool budget_spent, settled;
    int64_t counts[PL_COUNTERS];
};

/* All that a case has taken: `blocks`, `taken` and `spent_ns` on all ranks, the others on rank 0.
 */
struct pl_tally {
    int blocks, taken; /* blocks, and repetitions asked for */
    int late;          /* repetitions that the start scheme refused */
    struct pl_times warmup, samples;
    struct pl_note *notes; /* by block */
    int note_room;
    bool recorded;
    int64_t spent_ns; /* time that this case has taken, start scheme and exchange too */
};

struct pl_rounds {
    const struct pl_plan *plan;
    const struct pl_world *world;
    struct pl_record *record;
    const struct pl_counters *counters;
    struct pl_tally *tallies; /* by case of the plan */
    double *values;           /* room for the criteria */
    int value_room;
    bool failed; /* memory ran short, on rank 0 */
};

/* Collective. False: memory is short on some rank. */
bool pl_rounds_open(struct pl_rounds *rounds, const struct pl_plan *plan,
                    const struct pl_world *world, struct pl_record *record,
                    const struct pl_counters *counters);
void pl_rounds_close(struct pl_rounds *rounds);

/* Repetitions of the case in its next block; equal on all ranks. */
int pl_rounds_next(const struct pl_rounds *rounds, int index);

/* What the blocks of the case have used up of its budget, on rank 0: without a rule every block has
 * a budget of its own. */
int64_t pl_rounds_spent(const struct pl_rounds *rounds, int index);

/* After the block of a case: what it took, and what was counted meanwhile. */
void pl_rounds_add(struct pl_rounds *rounds, int index, int reps, const struct pl_series *series,
                   int64_t spent_ns);

/* After the last block: records what has been taken and is not recorded yet. Without a stopping
 * rule, cases are recorded as soon as they have had their last block. */
void pl_rounds_record(struct pl_rounds *rounds);

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
