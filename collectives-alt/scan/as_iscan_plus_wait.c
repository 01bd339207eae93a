/* Scan as Iscan, then Wait; see immediate.h. */
#include "immediate.h"

PL_IMMEDIATE(scan, "Iscan", PL_ANY);
