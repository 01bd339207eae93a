/* On which processing units the threads of overlap benchmarks run. */
#ifndef PL_CORES_H
#define PL_CORES_H

#include "measure/world.h"
#include "system/units.h"

#include <stdbool.h>

/* Of the host of a rank. */
struct pl_cores {
    int count;          /* processing units that this process may ever use */
    int free;           /* of them, those that no rank of this host is bound to */
    int *units;         /* their numbers by the system, the free ones first, both parts ascending */
    int players, place; /* ranks of this host that have threads; which one of them this is */
};

/* Collective. `plays`: this rank has threads. False: the kernel or memory fails. pl_cores_close in
 * both cases. */
bool pl_cores_find(struct pl_cores *cores, const struct pl_world *world, bool plays);
void pl_cores_close(struct pl_cores *cores);

/* Fills count, free and units: what the first is about, from sets of processing units. */
bool pl_cores_order(struct pl_cores *cores, const struct pl_units *allowed,
                    const struct pl_units *taken);

/* The unit of this rank's thread `index`: the players of a host take the units in turn, and start
 * again where there are more threads than units. */
int pl_cores_of_thread(const struct pl_cores *cores, int index);
/* A free unit for one thread of this rank and of each other player; -1: there are too few. */
int pl_cores_spare(const struct pl_cores *cores);

#endif
