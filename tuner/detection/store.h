/* Memory of one call from Python: all of it is given back together, also when there is no more.
 * Whatever a call answers is columns of int64_t in it. */
#ifndef PL_DETECTION_STORE_H
#define PL_DETECTION_STORE_H

#include <stddef.h>
#include <stdint.h>

#define PL_ENTRY __attribute__((visibility("default")))

enum { PL_MOST_COLUMNS = 24 };

struct pl_store;

/* Numbers one behind the other, as many as come. */
struct pl_list {
    int64_t *at;
    int64_t count, room;
};

/* What Python reads: detect/core.py has the same. */
struct pl_column {
    const int64_t *at;
    int64_t count;
};

struct pl_answer {
    int64_t count;
    struct pl_column columns[PL_MOST_COLUMNS];
    struct pl_store *store;
};

/* Zeroed; never NULL: where there is no memory the call ends. */
void *pl_get(struct pl_store *store, size_t count, size_t size);
void *pl_grown(struct pl_store *store, void *old, size_t bytes);
void pl_give_back(void *old);
void pl_make_room(struct pl_store *store, struct pl_list *list);

static inline void pl_push(struct pl_store *store, struct pl_list *list, int64_t value)
{
    if (list->count == list->room)
        pl_make_room(store, list);
    list->at[list->count++] = value;
}

/* One column more of an answer. */
void pl_answer_with(struct pl_answer *answer, const int64_t *at, int64_t count);
void pl_answer_list(struct pl_answer *answer, const struct pl_list *list);

/* Calls `work`; NULL where memory was short. */
struct pl_answer *pl_answered(void (*work)(struct pl_answer *, const void *), const void *given);
PL_ENTRY void pl_release(struct pl_answer *answer);

/* Whether memory that is given back stays with the process until the next call: what is asked for
 * next needs no pages that the kernel has to clear. Where the C library is glibc. */
PL_ENTRY void pl_keep_memory(int64_t keep);

/* Sorts numbers, the smallest first. */
void pl_sort(int64_t *at, int64_t count);
/* Sorts a list and leaves each number once. */
void pl_unique(struct pl_list *list);

#endif
