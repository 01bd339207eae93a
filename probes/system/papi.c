#include "system/papi.h"

#ifdef PL_PAPI
#include "system/apart.h"

#include <stdio.h>

struct pl_papi pl_papi;

#define NAME(name) "PAPI_" #name,
static const char *const names[] = {PL_PAPI_FUNCTIONS(NAME)};

const char *pl_papi_open(void)
{
    char file[32];
    if (pl_papi.library_init)
        return NULL;
    snprintf(file, sizeof file, "libpapi.so.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
             PAPI_VERSION_MINOR(PAPI_VERSION));
    return pl_apart(file, PL_PAPI_FOLDER, names, sizeof names / sizeof *names, &pl_papi);
}
#endif
