/* Reduce_scatter as Ireduce_scatter, then Wait; see immediate.h.
 *
 * Restrictions: contiguous types (operands.c). */
#include "immediate.h"

PL_IMMEDIATE(reduce_scatter, "Ireduce_scatter", PL_CONTIGUOUS);
