/* The global clock of a launch: that of rank 0's domain, as every rank reads it.
 *
 * A clock domain is a node where the timer is shared there, else a single rank. Domains of one node
 * have one oscillator, so between them only offsets are learnt; slopes are learnt between nodes,
 * by each node's first rank. With one domain there is nothing to learn and no error. */
#ifndef PL_GLOBAL_H
#define PL_GLOBAL_H

#include "clock/algorithms/algorithms.h"
#include "clock/clock.h"
#include "clock/nodes.h"

struct pl_global {
    const struct pl_world *world;
    const struct pl_clock_nodes *nodes;
    const struct pl_clock *clock;
    const struct pl_clock_sync *algorithm;
    int64_t fit_ns;
    bool crowded; /* who waits gives way */

    struct pl_model model; /* out: from this rank's timer to the global clock */
    int64_t learnt_ns;     /* out: this rank's timer when it was learnt */
    int64_t took_ns;       /* out: how long that took */
};

/* The number of domains, and their first ranks: of domain d. */
int pl_global_domains(const struct pl_global *global);
int pl_global_leader(const struct pl_global *global, int domain);

/* Gets the timers of all ranks ready; those of a node convert alike. Collective. False when one
 * will not start. */
bool pl_global_start_timers(const struct pl_global *global);

/* Collective: learns the models. The fields that are not `out` are the caller's. */
void pl_global_learn(struct pl_global *global);

/* What fresh ping-pongs with rank 0 say of the global clock of a rank. */
struct pl_global_error {
    int64_t error_ns; /* deviation if both ways were equally fast: the largest of the good bursts */
    int64_t bound_ns; /* largest deviation that unequal ways could hide */
};

/* Collective; `errors` (world->size of them, by rank, on rank 0 only) are zero for ranks that lead
 * no domain. */
void pl_global_check(const struct pl_global *global, struct pl_global_error *errors);

#endif
