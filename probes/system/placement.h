/* Where the ranks are: hosts, cores, bindings. */
#ifndef PL_PLACEMENT_H
#define PL_PLACEMENT_H

#include "measure/world.h"

#include <hwloc.h>
#include <stdbool.h>

struct pl_place {
    char host[MPI_MAX_PROCESSOR_NAME];
    char binding[512]; /* processing units, as "0-3,8" */
    int population;    /* ranks on this host, counted at the first of them */
};

/* Known to rank 0 only; elsewhere `ranks` is NULL. */
struct pl_placement {
    int nodes, ppn; /* ppn: ranks on the fullest node */
    struct pl_place *ranks;
};

/* Processing units this process may ever run on (cgroup and administrator, not its binding). */
int pl_processing_units(hwloc_topology_t topology);

/* Collective. False when rank 0 is out of memory. */
bool pl_placement_gather(struct pl_placement *placement, const struct pl_world *world,
                         hwloc_topology_t topology);
/* The first rank on the same host: the same rank for all ranks of a node. */
int pl_placement_first_on_host(const struct pl_placement *placement, int rank);
void pl_placement_free(struct pl_placement *placement);

#endif
