#include "system/apart.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *pl_apart(const char *file, const char *folder, const char *const *names, size_t count,
                     void *functions)
{
    const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
    char path[PATH_MAX];
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
