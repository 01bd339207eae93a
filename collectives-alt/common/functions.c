/* Names of the MPI functions, both ways. */
#include "variant.h"

#include <string.h>

static const char *const names[PL_FUNCTION_COUNT] = {
#define PL_FUNCTION(symbol, mpi_name) [PL_FN_##symbol] = mpi_name,
#include "functions.def"
#undef PL_FUNCTION
};

const char *pl_function_name(enum pl_function function)
{
    return function < PL_FUNCTION_COUNT ? names[function] : "unknown";
}

enum pl_function pl_function_by_name(const char *name)
{
    for (int f = 0; f < PL_FUNCTION_COUNT; f++)
        if (strcmp(names[f], name) == 0)
            return (enum pl_function)f;
    return PL_FUNCTION_COUNT;
}
