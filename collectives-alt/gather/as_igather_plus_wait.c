/* Gather as Igather, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(gather, "Igather", PL_ANY);
