/* Allreduce as Iallreduce, then Wait; see immediate.h.
 *
 * Restrictions: contiguous types (operands.c). */
#include "immediate.h"

PL_IMMEDIATE(allreduce, "Iallreduce", PL_CONTIGUOUS);
