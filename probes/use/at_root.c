/* A barrier of the library, then the call, and the time of the root alone: what a program whose
 * root has work of its own pays for it, whenever the other ranks are through (Reussner and
 * Hunzelmann, Achieving Performance Portability with SKaMPI, 2001, section 5). Of a function
 * without a root it is the time of rank 0. */
#include "use/use.h"

const struct pl_use pl_use_at_root = {
    .name = "at_root",
    .summary = "MPI_Barrier before each call; the time of the root alone",
    .scheme = &pl_sync_barrier,
    .span = PL_SPAN_ROOT,
};
