/* Reduce as Ireduce, then Wait; see immediate.h.
 *
 * Restrictions: contiguous types (operands.c). */
#include "immediate.h"

PL_IMMEDIATE(reduce, "Ireduce", PL_CONTIGUOUS);
