/* Where MPI functions are called from. To unwind a stack takes microseconds, so it is done once a
 * call path: where every return address was found is kept, and a later call from the same place is
 * the same path if the same addresses lie there. Frames of this library are left out. */
#include "recorder.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

enum { DEPTH = PL_FRAMES + 2, BUCKETS = 1024, OFFSET_BITS = 48 };

struct path {
    struct path *next;
    int32_t site;
    int depth;
    ptrdiff_t at[DEPTH]; /* from the first one's place, in pointers */
    const void *returns[DEPTH];
};

struct site {
    struct site *next;
    int32_t number;
    uint64_t frames[PL_FRAMES];
};

static _Thread_local struct path *paths[BUCKETS];

static struct {
    pthread_mutex_t lock;
    struct site *sites;
    int32_t count;
    const struct link_map *modules[1024];
    int module_count;
    const void *own; /* where this library lies */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct unwinding {
    const void *const *place;
    struct path *path;
};

static const struct link_map *module_of(const void *address, const void **base)
{
    Dl_info info;
    void *map = NULL;
    if (!dladdr1(address, &info, &map, RTLD_DL_LINKMAP))
        return NULL;
    if (base)
        *base = info.dli_fbase;
    return map;
}

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *given)
{
    struct unwinding *unwinding = given;
    struct path *path = unwinding->path;
    const void *address = (const void *)_Unwind_GetIP(context);
    const void *const *place = (const void *const *)_Unwind_GetCFA(context) - 1;
    if (path->depth == 0 && place != unwinding->place)
        return _URC_NO_REASON; /* still below the function that asks */
    if (!address || path->depth == DEPTH)
        return _URC_END_OF_STACK;
    path->at[path->depth] = place - unwinding->place;
    path->returns[path->depth++] = address;
    return _URC_NO_REASON;
}

static uint64_t number_of(const struct link_map *module)
{
    for (int i = 0; i < known.module_count; i++)
        if (known.modules[i] == module)
            return (uint64_t)i;
    if (known.module_count == (int)(sizeof known.modules / sizeof *known.modules))
        return 0;
    const char *name = module->l_name[0] ? module->l_name : "/proc/self/exe";
    char *path = realpath(name, NULL);
    const char *text = path ? path : name;
    known.modules[known.module_count] = module;
    pl_write_pieces(PL_MODULE, known.module_count, 0, text, strlen(text));
    free(path);
    return (uint64_t)known.module_count++;
}

/* Calls are looked up by the address that they return to. */
static int describe(const struct path *path, uint64_t frames[PL_FRAMES])
{
    int count = 0;
    for (int i = 0; i < path->depth && count < PL_FRAMES; i++) {
        const void *base = NULL;
        const struct link_map *module = module_of(path->returns[i], &base);
        if (!module || base == known.own)
            continue;
        const uint64_t address = (uint64_t)path->returns[i] - module->l_addr;
        frames[count++] =
            number_of(module) << OFFSET_BITS | (address & ((UINT64_C(1) << OFFSET_BITS) - 1));
    }
    return count;
}

static int32_t number_site(const struct path *path)
{
    uint64_t frames[PL_FRAMES] = {0};
    pthread_mutex_lock(&known.lock);
    const int count = describe(path, frames);
    struct site *site = known.sites;
    while (site && memcmp(site->frames, frames, sizeof frames) != 0)
        site = site->next;
    if (!site && (site = calloc(1, sizeof *site))) {
        memcpy(site->frames, frames, sizeof frames);
        site->number = known.count++;
        site->next = known.sites;
        known.sites = site;
        pl_write_pieces(PL_STACK, site->number, 0, frames, (size_t)count * sizeof *frames);
    }
    pthread_mutex_unlock(&known.lock);
    return site ? site->number : -1;
}

static bool same(const struct path *path, const void *const *place)
{
    for (int i = 0; i < path->depth; i++)
        if (place[path->at[i]] != path->returns[i])
            return false;
    return true;
}

/* Whether the addresses lie where unwinding says: a stack that is laid out otherwise (another
 * processor) has paths of one frame. */
static void check(struct path *path, const void *const *place)
{
    if (path->depth > 0 && same(path, place))
        return;
    path->depth = 1;
    path->at[0] = 0;
    path->returns[0] = *place;
}

int32_t pl_site_of(const void *const *place)
{
    struct path **bucket = &paths[((uintptr_t)*place >> 2) % BUCKETS];
    struct path *path = *bucket;
    for (; path; path = path->next)
        if (same(path, place))
            return path->site;
    path = calloc(1, sizeof *path);
    if (!path)
        return -1;
    struct unwinding unwinding = {place, path};
    _Unwind_Backtrace(step, &unwinding);
    check(path, place);
    path->site = number_site(path);
    path->next = *bucket;
    *bucket = path;
    return path->site;
}

void pl_sites_begin(void)
{
    module_of((const void *)pl_sites_begin, &known.own);
}
