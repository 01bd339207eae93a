/* Scan as Iscan, then Wait; see immediate.h.
 *
 * Restrictions: contiguous types (operands.c). */
#include "immediate.h"

PL_IMMEDIATE(scan, "Iscan", PL_CONTIGUOUS);
