/* What cvar.c is where the MPI has no MPI_T: not one control variable. probes/Makefile takes the
 * one or the other. */
#include "system/cvar.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NONE(function, ...)                                                                        \
    function                                                                                       \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }

void pl_cvar_start(void) {}

void pl_cvar_stop(void) {}

bool pl_cvar_info(int index, struct pl_cvar *cvar)
{
    *cvar = (struct pl_cvar){.index = index};
    return false;
}

int pl_cvar_read(const struct pl_cvar *cvar, struct pl_cvar_value *value)
{
    *value = (struct pl_cvar_value){0};
    return MPI_ERR_OTHER;
}

/* clang-format off */
NONE(int pl_cvar_count(void), 0)
NONE(bool pl_cvar_find(const char *name, struct pl_cvar *cvar), pl_cvar_info(-1, cvar))
NONE(const char *pl_cvar_scope_name(const struct pl_cvar *cvar), "unknown")
NONE(bool pl_cvar_writable(const struct pl_cvar *cvar), false)
NONE(int pl_cvar_write(const struct pl_cvar *cvar, const struct pl_cvar_value *value), MPI_ERR_OTHER)
NONE(bool pl_cvar_described(const struct pl_cvar *cvar), false)
NONE(int pl_cvar_enumerators(const struct pl_cvar *cvar), 0)
NONE(bool pl_cvar_enumerator(const struct pl_cvar *cvar, int i, int *value, char *name, int size), false)
/* clang-format on */
