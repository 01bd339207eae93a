/* The library's own functions, with the arguments of a call. */
#include "next.h"
#include "variant.h"

const struct pl_call pl_no_call = {.function = PL_FUNCTION_COUNT};

int pl_call_pmpi(const struct pl_call *c)
{
#define PL_THROUGH(name) PMPI_##name
#include "through.inc"
#undef PL_THROUGH
}

int pl_call_next(const struct pl_call *c)
{
#define PL_THROUGH(name) pl_next.name
#include "through.inc"
#undef PL_THROUGH
}

int pl_call_mpi(const struct pl_call *c)
{
#define PL_THROUGH(name) PL_MPI(name)
#include "through.inc"
#undef PL_THROUGH
}
