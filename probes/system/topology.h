/* The machine as hwloc sees it. */
#ifndef PL_TOPOLOGY_H
#define PL_TOPOLOGY_H

#include "json.h"

#include <hwloc.h>

/* This host's, or what a simulated host is: its cores, without caches. False: it cannot be read. */
bool pl_topology_open(hwloc_topology_t *topology);

/* Members of an object: packages, cores, processing units, NUMA nodes, caches, XML. */
void pl_topology_json(struct pl_json *json, hwloc_topology_t topology);

#endif
