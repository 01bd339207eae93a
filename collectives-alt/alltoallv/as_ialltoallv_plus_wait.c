/* Alltoallv as Ialltoallv, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(alltoallv, "Ialltoallv");
