/* Looks the functions up once, in the order in which the loader has the libraries. */
#include "next.h"

#define OWN(name) .name = PMPI_##name,
struct pl_next pl_next = {PL_NEXT_OTHERS(OWN)
#define PL_FUNCTION(symbol, name) OWN(name)
#include "functions.def"
#undef PL_FUNCTION
};

#ifndef SMPI_H
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#ifdef PL_PRELOAD
static void *next(const char *name)
{
    /* No tail call: the loader looks behind the library that dlsym returns to. */
    void *volatile found = dlsym(RTLD_NEXT, name);
    return found;
}
#else
/* Where libplumbline.so is in the loader's list; NULL: not there. */
static struct link_map *preload(void)
{
    static const char file[] = "/libplumbline.so";
    struct link_map *at = NULL;
    if (dlinfo(dlopen(NULL, RTLD_LAZY), RTLD_DI_LINKMAP, &at) != 0)
        return NULL;
    for (; at; at = at->l_next) {
        const size_t length = strlen(at->l_name);
        if (length >= sizeof file - 1 && strcmp(at->l_name + length - sizeof file + 1, file) == 0)
            break;
    }
    return at;
}

/* What libplumbline.so itself would find. dlsym also looks into what a library needs, so the
 * library where a function lies is asked for. */
static void *next(const char *name)
{
    struct link_map *at = preload(), *of = NULL;
    Dl_info info;
    if (!at)
        return dlsym(RTLD_DEFAULT, name);
    while ((at = at->l_next)) {
        void *const library = dlopen(at->l_name, RTLD_LAZY | RTLD_NOLOAD);
        void *const found = library ? dlsym(library, name) : NULL;
        if (found && dladdr1(found, &info, (void **)&of, RTLD_DL_LINKMAP) && of == at)
            return found;
    }
    return NULL;
}
#endif

static void take(void *function, size_t size, const char *name)
{
    void *const found = next(name);
    if (found)
        memcpy(function, &found, size);
}

#define TAKE(name) take(&pl_next.name, sizeof pl_next.name, "MPI_" #name);
__attribute__((constructor)) static void look_up(void)
{
    PL_NEXT_OTHERS(TAKE)
#define PL_FUNCTION(symbol, name) TAKE(name)
#include "functions.def"
#undef PL_FUNCTION
}
#endif
