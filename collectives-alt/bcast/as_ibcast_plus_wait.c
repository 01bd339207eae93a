/* Bcast as Ibcast, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(bcast, "Ibcast", PL_ANY);
