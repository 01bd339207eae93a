/* Names of the MPI functions, both ways. */
#include "variant.h"

#include <string.h>

static const char *const names[PL_FUNCTION_COUNT] = {
#define PL_FUNCTION(symbol, name) [PL_FN_##symbol] = "MPI_" #name,
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

bool pl_reduces(enum pl_function function)
{
    switch (function) {
    case PL_FN_reduce:
    case PL_FN_allreduce:
    case PL_FN_reduce_scatter:
    case PL_FN_reduce_scatter_block:
    case PL_FN_scan:
    case PL_FN_exscan:
    case PL_FN_reduce_local:
        return true;
    default:
        return false;
    }
}

bool pl_has_neighbors(enum pl_function function)
{
    return function >= PL_FN_neighbor_allgather && function < PL_FUNCTION_COUNT;
}

bool pl_is_measured(enum pl_function function)
{
    return function <= PL_FN_reduce_local;
}

bool pl_has_volume(enum pl_function function)
{
    return function != PL_FN_gatherv && function != PL_FN_scatterv && function != PL_FN_alltoallv &&
           pl_is_measured(function);
}

bool pl_deployable(const struct pl_variant *variant)
{
    return pl_has_volume(variant->function) || variant->scratch_volumes == 0;
}
