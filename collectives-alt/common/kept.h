/* What is kept on a communicator. */
#ifndef PL_KEPT_H
#define PL_KEPT_H

#include "tools.h"

#include <stdatomic.h>

struct pl_kept {
    /* scratch.c */
    void *block[PL_SCRATCH_SLOTS];
    size_t size[PL_SCRATCH_SLOTS];
    struct pl_kept *before, *after; /* in the order of calls; NULL without blocks */
    atomic_bool in_call;
    /* private.c */
    MPI_Comm private_comm;
    bool left; /* it gets none */
    /* nodes.c */
    struct pl_nodes nodes; /* without node_of: not looked at yet */
    int *node_tables;      /* that nodes points into */
};

/* NULL when memory is short. */
struct pl_kept *pl_kept_on(MPI_Comm comm);

/* Around what makes a communicator out of comm, with its outcome. In libplumbline.so no error gets
 * to the application: pl_loud returns PL_LEFT for one. */
int pl_quiet(MPI_Comm comm, MPI_Errhandler *handler);
int pl_loud(MPI_Comm comm, MPI_Errhandler *handler, int outcome);

/* What the parts give back when the communicator goes. */
void pl_kept_free_scratch(struct pl_kept *kept);
int pl_kept_free_private(struct pl_kept *kept);

#endif
