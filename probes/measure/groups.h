/* Which ranks a case runs on: all, or the first K of the launch (plan key `ranks`). Where the
 * plan has trials, other communicators of all ranks come with these.
 *
 * A group has communicators of its own for start schemes and results, so that everything that
 * measures a case works in it as in a launch of K ranks. The other ranks sleep meanwhile. */
#ifndef PL_GROUPS_H
#define PL_GROUPS_H

#include "measure/world.h"
#include "plan.h"

#include <stdbool.h>

/* The communicators that the calls of a trial draw from. */
enum pl_company { PL_ALL, PL_DUPLICATE, PL_REVERSED, PL_HALF, PL_COMPANIES };

struct pl_group {
    int ranks; /* 0: all */
    enum pl_company company;
    int part;              /* which of the halves this rank is in; else 0 */
    struct pl_world world; /* of the group; not to be used by ranks that are not in it */
    MPI_Comm comm;         /* what runs with config `default`; MPI_COMM_NULL outside the group */
};

struct pl_groups {
    const struct pl_world *world; /* of the launch */
    int count;
    struct pl_group *group; /* the first one is all ranks; one for each other `ranks` of the plan */
    int company[PL_COMPANIES]; /* of all ranks: indices; 0 where the plan has no trials */
};

/* Collective. False: out of memory on some rank. */
bool pl_groups_open(struct pl_groups *groups, const struct pl_plan *plan,
                    const struct pl_world *world);
void pl_groups_close(struct pl_groups *groups);

/* Index of the group that a case runs on. */
int pl_groups_of(const struct pl_groups *groups, const struct pl_case *c);

/* A communicator for each group out of `comm`, which holds all ranks and stands first; collective.
 * `comms` has room for `count` of them; returns an MPI error class. */
int pl_groups_split(const struct pl_groups *groups, MPI_Comm comm, MPI_Comm *comms);
void pl_groups_free(const struct pl_groups *groups, MPI_Comm *comms);

/* Around what a group does, on all ranks. Enter is false on ranks outside the group, which sleep
 * until rank 0, always in it, leaves. */
bool pl_groups_enter(const struct pl_groups *groups, int group);
void pl_groups_leave(const struct pl_groups *groups, int group);

#endif
