/* No scheme: repetitions follow each other, ranks drift as far apart as the function lets them.
 * Shows throughput, and what the barrier adds. */
#include "sync/sync.h"

static int start(MPI_Comm comm)
{
    (void)comm;
    return MPI_SUCCESS;
}

const struct pl_sync pl_sync_none = {
    .name = "none",
    .summary = "repetitions follow each other without synchronisation",
    .start = start,
};
