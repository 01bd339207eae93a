/* Scatter as Iscatter, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(scatter, "Iscatter", PL_ANY);
