/* Allgatherv as Iallgatherv, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(allgatherv, "Iallgatherv", PL_ANY);
