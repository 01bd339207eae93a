/* The hosts of a launch, in order of their first ranks. One rank of each, the first, reads what is
 * the same for the whole host. */
#ifndef PL_HOSTS_H
#define PL_HOSTS_H

#include "system/placement.h"

#include <stdbool.h>

struct pl_hosts {
    int count;
    int *of;                               /* by rank: its host */
    int *readers;                          /* by host: the rank that reads */
    char (*names)[MPI_MAX_PROCESSOR_NAME]; /* by host; on rank 0, else NULL */
    bool reads;                            /* this rank is a reader */
};

/* Collective. False: some rank is out of memory. */
bool pl_hosts_open(struct pl_hosts *hosts, const struct pl_world *world,
                   const struct pl_placement *placement);
void pl_hosts_close(struct pl_hosts *hosts);

#endif
