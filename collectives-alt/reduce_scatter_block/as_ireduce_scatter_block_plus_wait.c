/* Reduce_scatter_block as Ireduce_scatter_block, then Wait; see immediate.h.
 *
 * Restrictions: contiguous types (operands.c). */
#include "immediate.h"

PL_IMMEDIATE(reduce_scatter_block, "Ireduce_scatter_block", PL_CONTIGUOUS);
