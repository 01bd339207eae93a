/* Allreduce as Iallreduce, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(allreduce, "Iallreduce", PL_ANY);
