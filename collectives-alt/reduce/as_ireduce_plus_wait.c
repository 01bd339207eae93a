/* Reduce as Ireduce, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(reduce, "Ireduce");
