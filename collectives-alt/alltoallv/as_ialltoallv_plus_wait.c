/* Alltoallv as Ialltoallv, then Wait; see immediate.h.
 *
 * Not in place: Ialltoallv of Open MPI 4.1.4 then delivers wrong blocks. */
#include "immediate.h"

PL_IMMEDIATE(alltoallv, "Ialltoallv", PL_NO_IN_PLACE);
