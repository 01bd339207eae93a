/* A barrier of the library, then the call, timed by every rank for itself; the largest of the
 * ranks' times (algorithm 1, lines 9–11, of Hunold and Carpen-Amarie, IEEE TPDS 27, 2016). Ranks
 * leave the barrier at different times, and who waits for the last one counts that. */
#include "use/use.h"

const struct pl_use pl_use_after_barrier = {
    .name = "after_barrier",
    .summary = "MPI_Barrier before each call; the largest of the ranks' own times",
    .scheme = &pl_sync_barrier,
    .span = PL_SPAN_LONGEST,
};
