/* Where the ranks are: hosts, cores, bindings. */
#ifndef PL_PLACEMENT_H
#define PL_PLACEMENT_H

#include "measure/world.h"

#include <stdbool.h>

struct pl_location {
    char host[MPI_MAX_PROCESSOR_NAME];
    char binding[512]; /* processing units, as "0-3,8" */
};

/* Known to rank 0 only; elsewhere `ranks` is NULL. */
struct pl_placement {
    int nodes, ppn; /* ppn: ranks on the fullest node */
    struct pl_location *ranks;
    int *first; /* by rank: the first on the same host */
};

/* Collective. False when rank 0 is out of memory. */
bool pl_placement_gather(struct pl_placement *placement, const struct pl_world *world);
/* Fills nodes, ppn and first from the hosts of `size` ranks. False: out of memory. */
bool pl_placement_count(struct pl_placement *placement, int size);
void pl_placement_free(struct pl_placement *placement);

#endif
