/* Communicators with a topology, drawn at random. */
#ifndef PL_TEST_TOPOLOGIES_H
#define PL_TEST_TOPOLOGIES_H

#include "graphs.h"

#include <mpi.h>

/* The neighbours of this rank on `comm`. Edges with the same two ends have the same count at both
 * ends, and other counts only where all libraries deliver them in order. */
struct topology {
    MPI_Comm comm;
    struct graph graph;
    const char *name;
};

/* All ranks of `comm` in the same order: a Cartesian grid, periodic or not in each dimension; a
 * symmetric graph; a distributed graph, from the edges of each rank or from those that it sends
 * along. Graphs have several edges between two ranks, edges to oneself, and ranks without any. */
struct topology topology_draw(unsigned long long seed, MPI_Comm comm);
void topology_free(struct topology *topology);

#endif
