/* Allgather as Iallgather, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(allgather, "Iallgather", PL_ANY);
