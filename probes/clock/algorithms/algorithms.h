/* Clock synchronisation. One algorithm a file; algorithms.def lists them; the plan names one. */
#ifndef PL_ALGORITHMS_H
#define PL_ALGORITHMS_H

#include "clock/model.h"
#include "clock/wire.h"

struct pl_clock_sync {
    const char *name;
    const char *summary;
    /* Collective over the wire: from this process's timer to that of the wire's rank 0. */
    struct pl_model (*learn)(struct pl_wire *wire);
};

extern const struct pl_clock_sync *const pl_clock_syncs[];
extern const int pl_clock_sync_count;

#endif
