/* Gatherv as Igatherv, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(gatherv, "Igatherv", PL_ANY);
