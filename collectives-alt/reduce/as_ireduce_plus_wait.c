/* Reduce as Ireduce, then Wait; see immediate.h.
 *
 * Contiguous types only: Ireduce of Open MPI 4.1.4 writes before its own memory when a type has a
 * lower bound other than 0. */
#include "immediate.h"

PL_IMMEDIATE(reduce, "Ireduce", PL_CONTIGUOUS);
