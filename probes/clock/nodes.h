/* Which ranks are on one node, as far as clocks are concerned: the same host name, the same boot of
 * the same kernel, the same time namespace. */
#ifndef PL_NODES_H
#define PL_NODES_H

#include "measure/world.h"

#include <stdbool.h>

/* Equal on all ranks. Nodes are numbered in the order of their first ranks, so rank 0 is the first
 * rank of node 0. */
struct pl_clock_nodes {
    int count;
    int *of_rank; /* by rank */
    int *first;   /* by node: its first rank */
    int *ranks;   /* all ranks, those of node 0 before those of node 1 … */
    int *start;   /* by node, and one more: where its ranks start there */
};

/* Collective. False when memory is short on any rank. */
bool pl_clock_nodes_find(struct pl_clock_nodes *nodes, const struct pl_world *world);
void pl_clock_nodes_free(struct pl_clock_nodes *nodes);

/* Bytes of each node's first rank to all ranks of the node. */
void pl_clock_nodes_broadcast(const struct pl_clock_nodes *nodes, const struct pl_world *world,
                              void *buffer, int bytes);

#endif
