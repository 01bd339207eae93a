/* Ranks between plans: rank 0 waits for a request, the others for rank 0. On rank 0's host they
 * sleep until a signal (SIGURG, which nothing else here uses); on other hosts they look 50 times a
 * second. */
#ifndef PL_IDLE_H
#define PL_IDLE_H

#include "measure/world.h"

#include <sys/types.h>

struct pl_idle {
    bool is_reached;  /* a signal of rank 0 reaches this rank */
    pid_t *processes; /* on rank 0, by rank; 0 where no signal reaches it */
};

/* Before MPI_Init, so that all threads of the process leave the signal to pl_idle_wait. */
void pl_idle_prepare(void);
/* False, on all ranks, where there is no memory. */
bool pl_idle_open(struct pl_idle *idle, const struct pl_world *world);
void pl_idle_close(struct pl_idle *idle);
/* Other ranks: until rank 0 calls pl_idle_end for them. */
void pl_idle_wait(const struct pl_idle *idle, const struct pl_world *world);
/* Wakes the ranks from `first` to the one before `end`; the others sleep on. */
void pl_idle_end(const struct pl_idle *idle, const struct pl_world *world, int first, int end);

#endif
