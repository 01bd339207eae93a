/* Exscan as Iexscan, then Wait; see immediate.h.
 *
 * Restrictions: contiguous types (operands.c). */
#include "immediate.h"

PL_IMMEDIATE(exscan, "Iexscan", PL_CONTIGUOUS);
