/* The machine as hwloc sees it. hwloc is loaded where something asks for it, by the first rank of
 * each host, which tells the others (system/apart.h says how). */
#ifndef PL_TOPOLOGY_H
#define PL_TOPOLOGY_H

#include "json.h"
#include "system/hosts.h"
#include "system/units.h"

#include <stdbool.h>
#include <stddef.h>

/* Data caches (unified ones too) of a host. */
struct pl_cache_sizes {
    size_t private_bytes; /* the last one that belongs to one core; the largest if cores differ */
    size_t largest_bytes; /* of any level */
    size_t memory_bytes;
    size_t line_bytes;
};

/* Where a rank is bound to, and in what. */
struct pl_surroundings {
    int package, core; /* hwloc's logical index; -1: bound to more than one, or not at all. A
                          machine without packages is one package */
    int cache, numa;   /* hwloc's number of the last data cache, and of what a NUMA node is next
                          to; -1 likewise, and where there is none */
    struct pl_cache_sizes caches;
};

/* Collective. NULL, or why the topology of a host cannot be read, on all ranks. */
const char *pl_surroundings_find(struct pl_surroundings *found, const struct pl_world *world,
                                 const struct pl_hosts *hosts);

/* Of this host: members of an object (packages, cores, processing units, NUMA nodes, caches, XML).
 * False: it cannot be read. */
bool pl_topology_json(struct pl_json *json);

/* Processing units of this host that this process may ever run on. */
int pl_processing_units(void);

/* hwloc's version; or why it cannot be used. */
void pl_topology_library(char *text, size_t size, char *missing, size_t missing_size);

/* This host in hwloc's synthetic form (hwloc's "Synthetic topologies"); or why not. */
void pl_topology_synthetic(char *text, size_t size, char *missing, size_t missing_size);

/* For a topology that is loaded. `bound`: what a rank is bound to. */
struct hwloc_topology;
struct pl_surroundings pl_surroundings_of(struct hwloc_topology *topology,
                                          const struct pl_units *bound);

#endif
