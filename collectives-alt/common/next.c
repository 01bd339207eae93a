/* Looks the functions up once, in the order in which the loader has the libraries. */
#include "next.h"

#define OWN(name) .name = PMPI_##name,
struct pl_next pl_next = {PL_NEXT_FUNCTIONS(OWN)};

#ifndef SMPI_H
#include <dlfcn.h>
#include <string.h>

#ifdef PL_PRELOAD
/* For the probe, which cannot look behind this library. */
__attribute__((visibility("default"))) void *plumbline_next(const char *name);

void *plumbline_next(const char *name)
{
    /* No tail call: the loader looks behind the library that dlsym returns to. */
    void *volatile found = dlsym(RTLD_NEXT, name);
    return found;
}
#else
static void *plumbline_next(const char *name)
{
    void *const there = dlsym(RTLD_DEFAULT, "plumbline_next");
    void *(*ask)(const char *) = NULL;
    if (!there)
        return dlsym(RTLD_DEFAULT, name);
    memcpy(&ask, &there, sizeof ask);
    return ask(name);
}
#endif

static void take(void *function, size_t size, const char *name)
{
    void *const found = plumbline_next(name);
    if (found)
        memcpy(function, &found, size);
}

#define TAKE(name) take(&pl_next.name, sizeof pl_next.name, "MPI_" #name);
__attribute__((constructor)) static void look_up(void)
{
    PL_NEXT_FUNCTIONS(TAKE)
}
#endif
