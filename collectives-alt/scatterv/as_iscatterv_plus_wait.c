/* Scatterv as Iscatterv, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(scatterv, "Iscatterv", PL_ANY);
