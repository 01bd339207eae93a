/* MPI_Barrier before each repetition: the seed's scheme and that of most benchmarks. The ranks
 * leave it at different times, by about one message latency; the maximum over ranks of the local
 * times contains that skew. PMPI_, so that no profile and no trace touches it. */
#include "sync/sync.h"

static int start(MPI_Comm comm)
{
    return PMPI_Barrier(comm);
}

const struct pl_sync pl_sync_barrier = {
    .name = "barrier",
    .summary = "MPI_Barrier of the library before each repetition",
    .start = start,
};
