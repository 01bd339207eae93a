/* Lists of names that a plan may have, such as those of start schemes, timers and datatypes. All of
 * them stand in names.c; `probe --list` prints them (list.c), and lines of plans are read by them
 * (plan_parser.h). */
#ifndef PL_NAMES_H
#define PL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum pl_list {
    PL_LIST_TYPES,
    PL_LIST_OPS,
    PL_LIST_COUNTS,
    PL_LIST_SYNCS,
    PL_LIST_USES,
    PL_LIST_CLOCKS,
    PL_LIST_CLOCK_SYNCS,
    PL_LIST_PATTERNS,
    PL_LIST_PLAIN,
    PL_LIST_CRITERIA,
    PL_LIST_OVERLAPS,
    PL_LIST_KERNELS,
    PL_LIST_CACHES,
    PL_LIST_RUNTIMES,
    PL_LIST_SWITCHES,
    PL_LISTS
};

struct pl_names {
    const char *what;    /* an entry is such a thing: "start scheme" */
    const char *listed;  /* its key in `probe --list`; NULL: it is not listed */
    const void *entries; /* each begins with its name */
    size_t size;         /* of an entry in bytes; 0: `entries` has pointers to them */
    const int *count;
    bool summaries; /* a summary follows the name of each */
};

extern const struct pl_names pl_names[PL_LISTS];

/* The entry at `index` (from 0 to count - 1), and its name. */
const void *pl_names_entry(enum pl_list list, int index);
const char *pl_names_at(enum pl_list list, int index);
/* The index of the entry with this name; -1: there is none. */
int pl_names_find(enum pl_list list, const char *name);
/* The entry with this name; NULL: there is none. */
const void *pl_named(enum pl_list list, const char *name);

#endif
