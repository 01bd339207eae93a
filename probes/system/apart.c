#include "system/apart.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether all of the process allocates by the C library's functions. What is loaded apart frees by
 * these, and the C library itself allocates for it by those that are found first: with an allocator
 * that is preloaded, the two are not the same. */
static bool one_allocator(void)
{
    void (*const found_first)(void *) = free;
    void *const c_library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *const of_c_library = c_library ? dlsym(c_library, "free") : NULL;
    if (c_library)
        dlclose(c_library);
    return !of_c_library || memcmp(&found_first, &of_c_library, sizeof of_c_library) == 0;
}

const char *pl_apart(const char *file, const char *folder, const char *const *names, size_t count,
                     void *functions)
{
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
    char path[PATH_MAX];
    if (!one_allocator())
        return "not loaded beside a memory allocator that is not the C library's";
    /* By its path: what has the same name and is loaded already is not it. */
    snprintf(path, sizeof path, "%s/%s", folder, file);
    void *library = dlopen(path, flags);
    if (!library && !(library = dlopen(file, flags)))
        return dlerror();
    for (size_t i = 0; i < count; i++) {
        void *const found = dlsym(library, names[i]);
        if (!found) {
            memset(functions, 0, count * sizeof found);
            return dlerror();
        }
        memcpy((char *)functions + i * sizeof found, &found, sizeof found);
    }
    return NULL;
}
