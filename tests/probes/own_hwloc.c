/* Stands before an MPI library, with an hwloc and a PAPI inside that it shows and calls, as
 * MVAPICH2 does with its hwloc 1. names.h has their functions. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const void *library_of(const void *address, const char **file)
{
    Dl_info info;
    if (!dladdr(address, &info))
        abort();
    *file = info.dli_fname;
    return info.dli_fbase;
}

static void only_here(const char *name, const void *address, const char *what)
{
    const char *here, *there;
    if (library_of((const void *)only_here, &here) == library_of(address, &there))
        return;
    fprintf(stderr, "own_hwloc: %s %s %s\n", name, what, there);
    abort();
}

#define OWN(name)                                                                                  \
    __attribute__((noinline)) void name(void)                                                      \
    {                                                                                              \
        only_here(#name, __builtin_return_address(0), "is called by");                             \
    }
#include "names.h"
#undef OWN

static void call_all(void)
{
#define OWN(name)                                                                                  \
    only_here(#name, (const void *)name, "is taken from");                                         \
    name();
#include "names.h"
#undef OWN
}

int PMPI_Init(int *argc, char ***argv);
int MPI_Init(int *argc, char ***argv)
{
    call_all();
    return PMPI_Init(argc, argv);
}
