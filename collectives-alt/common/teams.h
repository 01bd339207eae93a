/* Two levels of a communicator, the ranks of each node and one leader a node, with trees of
 * messages among them: what hierarchical variants are made of. All messages are on the private
 * communicator. Ranks of a node that share memory use it in place of messages (shared.h). */
#ifndef PL_TEAMS_H
#define PL_TEAMS_H

#include "tools.h"

struct pl_team {
    MPI_Comm comm, peers; /* whose handler gets errors; where messages go */
    const struct pl_nodes *nodes;
    int node;  /* whose ranks they are; -1: the leaders, in the order of their nodes */
    int root;  /* this rank leads its node, in other nodes the first one */
    int radix; /* of the trees */
    struct pl_shared *shared; /* the memory of the node; NULL: there are messages */
    int size, mine; /* places are 0 .. size - 1; mine is -1 on ranks that are not in the team */
};

/* `leader`: the leader's place in its node; `top`: the place of `root` among the leaders. */
struct pl_two_levels {
    struct pl_team node, leaders;
    int leader, top;
};

/* The first call on a communicator is collective. */
int pl_two_levels(const struct pl_call *call, int root, int radix, struct pl_two_levels *levels);

/* The rank of call->comm at a place. */
int pl_team_rank(const struct pl_team *team, int place);

/* K-nomial trees, or steps in shared memory; called on all ranks of the team and, without effect,
 * by others. */

/* From the place `root` to all. */
int pl_team_bcast(const struct pl_team *team, int root, void *buf, int count, MPI_Datatype type);
/* An empty message from everyone has come, directly or not, to the place `root`. */
int pl_team_report(const struct pl_team *team, int root);
/* `*value` is the operand, and at the place `root` then the result, which is in `room` unless
 * nobody else has an operand. Without a room (its address says nothing: MPI_BOTTOM) it is
 * PL_SLOT_WORK; PL_SLOT_RECV is used too. */
int pl_team_reduce(const struct pl_team *team, int root, const struct pl_call *call,
                   const void **value, bool has_room, void *room);

#endif
