/* MPI_Barrier before each repetition: the scheme of most benchmarks (MS1 of Hunold and
 * Carpen-Amarie, TPDS 2016, Table 3). The ranks leave it at different times, by about one message
 * latency; the maximum over ranks of the local times contains that skew. PMPI_, so that no profile
 * and no trace touches it. */
#include "measure/world.h"
#include "sync/sync.h"

static bool start(struct pl_start *start)
{
    PMPI_Barrier(start->world->sync);
    return true;
}

const struct pl_sync pl_sync_barrier = {
    .name = "barrier",
    .summary = "MPI_Barrier of the library before each repetition",
    .meets = true,
    .start = start,
};
