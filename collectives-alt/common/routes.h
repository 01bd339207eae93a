/* The routes of blocks between nodes, in three steps: to the rank of the own node that sends to the
 * other node, from there to a rank of that node, and from there to the neighbours. Made once out of
 * the edges of all ranks (routes.c); calls travel along them (node_aware.c). */
#ifndef PL_ROUTES_H
#define PL_ROUTES_H

#include "neighbors.h"

enum { PL_STEPS = 3 };

/* Consecutive units of a step that come from one rank, or go to it. */
struct pl_channel {
    int peer, first, units;
};

struct pl_leg {
    int channels, units;
    struct pl_channel *channel;
    int *ref; /* by unit; outward: its place among what the step before has brought */
};

struct pl_routes {
    struct pl_leg in[PL_STEPS], out[PL_STEPS];
    int *unit_of;         /* by place of a source: its unit in the last step; -1: none */
    long long most_units; /* with the own blocks, on any rank: the same on all ranks */
};

/* Collective. `gathers`: one unit stands for all edges between a rank and a node. */
int pl_routes_make(const struct pl_call *call, const struct pl_neighbors *neighbors,
                   const struct pl_nodes *nodes, bool gathers, struct pl_routes **made);

/* The number of places whose blocks may have to be packed. */
int pl_routes_to_pack(const struct pl_routes *routes, const struct pl_neighbors *neighbors);

#endif
