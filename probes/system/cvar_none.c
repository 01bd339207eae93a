/* What cvar.c is where the MPI has no MPI_T: not one control variable. probes/Makefile takes the
 * one or the other. */
#include "system/cvar.h"

void pl_cvar_start(void) {}

void pl_cvar_stop(void) {}

int pl_cvar_count(void)
{
    return 0;
}

bool pl_cvar_info(int index, struct pl_cvar *cvar)
{
    *cvar = (struct pl_cvar){.index = index};
    return false;
}

bool pl_cvar_find(const char *name, struct pl_cvar *cvar)
{
    (void)name;
    return pl_cvar_info(-1, cvar);
}

const char *pl_cvar_scope_name(const struct pl_cvar *cvar)
{
    (void)cvar;
    return "unknown";
}

bool pl_cvar_writable(const struct pl_cvar *cvar)
{
    (void)cvar;
    return false;
}

int pl_cvar_read(const struct pl_cvar *cvar, struct pl_cvar_value *value)
{
    (void)cvar;
    *value = (struct pl_cvar_value){0};
    return MPI_ERR_OTHER;
}

int pl_cvar_write(const struct pl_cvar *cvar, const struct pl_cvar_value *value)
{
    (void)cvar;
    (void)value;
    return MPI_ERR_OTHER;
}

bool pl_cvar_described(const struct pl_cvar *cvar)
{
    (void)cvar;
    return false;
}

int pl_cvar_enumerators(const struct pl_cvar *cvar)
{
    (void)cvar;
    return 0;
}

bool pl_cvar_enumerator(const struct pl_cvar *cvar, int i, int *value, char *name, int size)
{
    (void)cvar;
    (void)i;
    (void)value;
    (void)name;
    (void)size;
    return false;
}
