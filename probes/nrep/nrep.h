/* How many repetitions are enough: stopping criteria, one a file; criteria.def lists them; the plan
 * combines any of them into a rule (step NREP of Hunold et al., Euro-Par 2016, section 4.2). Pure:
 * no MPI.
 *
 * A criterion looks at all samples of a case so far, in the order in which they were taken, and
 * gives a number without unit; it is met when that number is below its threshold. */
#ifndef PL_NREP_H
#define PL_NREP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_criterion {
    const char *name;
    const char *summary;
    int window;     /* default number of last means or medians looked at; 0: has no window */
    bool of_blocks; /* `value` is given the samples of a block in place of a window */
    /* `room` holds 2 * count numbers. NAN: cannot be computed from these samples. */
    double (*value)(const int64_t *ns, int count, int window, double *room);
};

extern const struct pl_criterion *const pl_criteria[];
extern const int pl_criterion_count;

struct pl_nrep_condition {
    const struct pl_criterion *criterion;
    double threshold;
    int window; /* 0 where the criterion has none */
};

enum { PL_NREP_CONDITIONS = 8 };

/* No conditions: no rule. Else a case takes `least` samples, then `step` more at a time until all
 * conditions are met, never more than `most`: its totals are least, least + step, least + 2 step …,
 * most. `in_blocks`: it takes the blocks of the plan in place of these, until they are met. */
struct pl_nrep_rule {
    int count;
    struct pl_nrep_condition conditions[PL_NREP_CONDITIONS];
    int least, step, most;
    bool in_blocks;
};

/* "name:threshold[/window],…" into the conditions of a rule. False: `why` says what is wrong and
 * what to write. */
bool pl_nrep_parse(struct pl_nrep_rule *rule, const char *text, char *why, size_t size);

/* How many more samples a case takes that has taken `taken`; 0 at the maximum. */
int pl_nrep_next(const struct pl_nrep_rule *rule, int taken);

/* All conditions on these samples, `block` of which are of a block; `values` gets one number a
 * condition. `room`: 2 * count. */
bool pl_nrep_met(const struct pl_nrep_rule *rule, const int64_t *ns, int count, int block,
                 double *values, double *room);

#endif
