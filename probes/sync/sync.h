/* How the ranks start a repetition together. One scheme a file; syncs.def lists them; the plan
 * names one. What a scheme sends goes over a communicator of its own. */
#ifndef PL_SYNC_H
#define PL_SYNC_H

#include <mpi.h>

struct pl_sync {
    const char *name;
    const char *summary;
    int (*start)(
        MPI_Comm comm); /* collective; returns when this rank may begin: an MPI error class */
};

extern const struct pl_sync *const pl_syncs[];
extern const int pl_sync_count;
const struct pl_sync *pl_sync_by_name(const char *name); /* NULL when unknown */

#endif
