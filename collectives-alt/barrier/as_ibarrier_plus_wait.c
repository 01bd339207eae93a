/* Barrier as Ibarrier, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(barrier, "Ibarrier", PL_ANY);
