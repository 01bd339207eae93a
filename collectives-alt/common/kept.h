/* What scratch.c and nodes.c keep on a communicator. */
#ifndef PL_KEPT_H
#define PL_KEPT_H

#include "tools.h"

struct pl_kept {
    void *block[PL_SCRATCH_SLOTS];
    size_t size[PL_SCRATCH_SLOTS];
    MPI_Comm private_comm;
    struct pl_nodes nodes; /* without node_of: not looked at yet */
    int *node_tables;      /* that nodes points into */
};

/* NULL when memory is short. */
struct pl_kept *pl_kept_on(MPI_Comm comm);

#endif
