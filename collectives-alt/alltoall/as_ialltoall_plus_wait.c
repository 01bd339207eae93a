/* Alltoall as Ialltoall, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(alltoall, "Ialltoall", PL_ANY);
