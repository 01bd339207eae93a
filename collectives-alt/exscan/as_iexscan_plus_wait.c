/* Exscan as Iexscan, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(exscan, "Iexscan", PL_ANY);
