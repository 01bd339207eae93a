#include "names.h"

#include "clock/algorithms/algorithms.h"
#include "clock/clock.h"
#include "measure/cache.h"
#include "measure/plain.h"
#include "measure/shape.h"
#include "measure/types.h"
#include "nrep/nrep.h"
#include "overlap/bench.h"
#include "pattern/pattern.h"
#include "sync/sync.h"
#include "use/use.h"

#include <string.h>

static const char *const caches[] = {
    [PL_CACHE_WARM] = "warm", [PL_CACHE_CYCLE] = "cycle", [PL_CACHE_OVERWRITE] = "overwrite"};
static const char *const runtimes[] = {
    [PL_RUNTIME_LOCAL] = "local", [PL_RUNTIME_GLOBAL] = "global"};
static const char *const switches[] = {[PL_SWITCH_COMMUNICATOR] = "communicator",
                                       [PL_SWITCH_CALL] = "call",
                                       [PL_SWITCH_START] = "start"};

#define WORDS(words) words, sizeof *(words), &(const int){sizeof(words) / sizeof *(words)}, false

const struct pl_names pl_names[PL_LISTS] = {
    [PL_LIST_TYPES] = {"datatype", "types", pl_types, sizeof *pl_types, &pl_type_count, false},
    [PL_LIST_OPS] = {"operation", "ops", pl_ops, sizeof *pl_ops, &pl_op_count, false},
    [PL_LIST_COUNTS] = {"shape", "counts", WORDS(pl_counts_names)},
    [PL_LIST_SYNCS] = {"start scheme", "syncs", pl_syncs, 0, &pl_sync_count, false},
    [PL_LIST_USES] = {"way of use", "uses", pl_uses, 0, &pl_use_count, true},
    [PL_LIST_CLOCKS] = {"timer", "clocks", pl_clocks, 0, &pl_clock_count, false},
    [PL_LIST_CLOCK_SYNCS] = {"clock synchronisation", "clock_syncs", pl_clock_syncs, 0,
                             &pl_clock_sync_count, false},
    [PL_LIST_PATTERNS] = {"pattern", NULL, pl_patterns, 0, &pl_pattern_count, true},
    [PL_LIST_PLAIN] = {"loop", "plain", pl_plains, 0, &pl_plain_count, false},
    [PL_LIST_CRITERIA] = {"criterion", "criteria", pl_criteria, 0, &pl_criterion_count, false},
    [PL_LIST_OVERLAPS] = {"benchmark", "overlaps", pl_benches, 0, &pl_bench_count, true},
    [PL_LIST_KERNELS] = {"kernel", "kernels", WORDS(pl_kernel_names)},
    [PL_LIST_CACHES] = {"state of the caches", "caches", WORDS(caches)},
    [PL_LIST_RUNTIMES] = {"run time", NULL, WORDS(runtimes)},
    [PL_LIST_SWITCHES] = {"way to switch knobs", NULL, WORDS(switches)},
};

const void *pl_names_entry(enum pl_list list, int index)
{
    const struct pl_names *names = &pl_names[list];
    const void *entry = (const char *)names->entries + (size_t)index * names->size;
    if (names->size == 0)
        memcpy(&entry, (const char *)names->entries + (size_t)index * sizeof entry, sizeof entry);
    return entry;
}

const char *pl_names_at(enum pl_list list, int index)
{
    return *(const char *const *)pl_names_entry(list, index);
}

int pl_names_find(enum pl_list list, const char *name)
{
    for (int i = 0; i < *pl_names[list].count; i++)
        if (strcmp(pl_names_at(list, i), name) == 0)
            return i;
    return -1;
}

const void *pl_named(enum pl_list list, const char *name)
{
    const int index = pl_names_find(list, name);
    return index < 0 ? NULL : pl_names_entry(list, index);
}
