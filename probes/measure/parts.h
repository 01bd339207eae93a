/* Which ranks a case runs on: all, or the first K of MPI_COMM_WORLD (plan key `ranks`).
 *
 * A part has communicators of its own for start schemes and results, so that everything that
 * measures a case works in it as in a launch of K ranks. The other ranks sleep meanwhile. */
#ifndef PL_PARTS_H
#define PL_PARTS_H

#include "measure/world.h"
#include "plan.h"

#include <stdbool.h>

struct pl_part {
    int ranks;             /* 0: all */
    struct pl_world world; /* of the part; not to be used by ranks that are not in it */
    MPI_Comm comm;         /* what runs with config `default`; MPI_COMM_NULL outside the part */
};

struct pl_parts {
    const struct pl_world *world; /* of the launch */
    int count;
    struct pl_part *part; /* the first one is all ranks; one for each other `ranks` of the plan */
};

/* Collective. False: out of memory on some rank. */
bool pl_parts_open(struct pl_parts *parts, const struct pl_plan *plan,
                   const struct pl_world *world);
void pl_parts_close(struct pl_parts *parts);

/* Index of the part that a case runs on. */
int pl_parts_of(const struct pl_parts *parts, const struct pl_case *c);

/* A communicator for each part out of `comm`, which holds all ranks and stands first; collective.
 * `comms` has room for `count` of them; returns an MPI error class. */
int pl_parts_split(const struct pl_parts *parts, MPI_Comm comm, MPI_Comm *comms);
void pl_parts_free(const struct pl_parts *parts, MPI_Comm *comms);

/* Around what a part does, on all ranks. Enter is false on ranks outside the part, which sleep until
 * rank 0, always in it, leaves. */
bool pl_parts_enter(const struct pl_parts *parts, int part);
void pl_parts_leave(const struct pl_parts *parts, int part);

#endif
