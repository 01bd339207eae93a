/* What a collective benchmark begins: a function with arguments and buffers as cases have them. */
#ifndef PL_COLLECTIVE_H
#define PL_COLLECTIVE_H

#include "measure/arguments.h"

struct pl_collective {
    const struct pl_world *world;
    uint64_t seed; /* of the data */
    struct pl_buffers buffers;
    struct pl_case begun;
    struct pl_arguments arguments;
    char name[48]; /* of the call that begins it */
};

/* Memory for the largest collective cell of a plan. Collective, where the plan has any. False:
 * memory is short on some rank. */
bool pl_collective_open(struct pl_collective *collective, const struct pl_plan *plan,
                        const struct pl_world *world);
void pl_collective_close(struct pl_collective *collective);

/* The cell that comes next; bytes that it moves. */
int64_t pl_collective_set(struct pl_collective *collective, const struct pl_overlap *cell,
                          MPI_Comm comm);

#endif
