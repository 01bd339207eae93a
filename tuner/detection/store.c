/* Memory of one call, and its answer. */
#include "store.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Stands before each piece of memory. */
struct pl_chunk {
    struct pl_chunk *next, *previous;
};

struct pl_store {
    struct pl_chunk first;
    jmp_buf no_memory;
};

static void require(struct pl_store *store, const void *chunk)
{
    if (!chunk)
        longjmp(store->no_memory, 1);
}

static void link_in(struct pl_store *store, struct pl_chunk *chunk)
{
    chunk->previous = &store->first;
    chunk->next = store->first.next;
    if (chunk->next)
        chunk->next->previous = chunk;
    store->first.next = chunk;
}

static void link_out(struct pl_chunk *chunk)
{
    chunk->previous->next = chunk->next;
    if (chunk->next)
        chunk->next->previous = chunk->previous;
}

void *pl_get(struct pl_store *store, size_t count, size_t size)
{
    const size_t room = SIZE_MAX - sizeof(struct pl_chunk);
    struct pl_chunk *chunk =
        size && count > room / size ? NULL : calloc(1, sizeof *chunk + count * size);
    require(store, chunk);
    link_in(store, chunk);
    return chunk + 1;
}

void *pl_grown(struct pl_store *store, void *old, size_t bytes)
{
    if (!old)
        return pl_get(store, 1, bytes);
    struct pl_chunk *chunk = (struct pl_chunk *)old - 1;
    link_out(chunk);
    struct pl_chunk *grown = realloc(chunk, sizeof *chunk + bytes);
    if (!grown) {
        link_in(store, chunk);
        longjmp(store->no_memory, 1);
    }
    link_in(store, grown);
    return grown + 1;
}

void pl_give_back(void *old)
{
    if (!old)
        return;
    struct pl_chunk *chunk = (struct pl_chunk *)old - 1;
    link_out(chunk);
    free(chunk);
}

void pl_make_room(struct pl_store *store, struct pl_list *list)
{
    const int64_t room = list->room ? 2 * list->room : 16;
    list->at = pl_grown(store, list->at, (size_t)room * sizeof *list->at);
    list->room = room;
}

void pl_answer_with(struct pl_answer *answer, const int64_t *at, int64_t count)
{
    answer->columns[answer->count++] = (struct pl_column){at, count};
}

void pl_answer_list(struct pl_answer *answer, const struct pl_list *list)
{
    pl_answer_with(answer, list->at, list->count);
}

static bool worked(struct pl_answer *answer, void (*work)(struct pl_answer *, const void *),
                   const void *given)
{
    if (setjmp(answer->store->no_memory))
        return false;
    work(answer, given);
    return true;
}

struct pl_answer *pl_answered(void (*work)(struct pl_answer *, const void *), const void *given)
{
    struct pl_answer *answer = calloc(1, sizeof *answer);
    if (!answer)
        return NULL;
    answer->store = calloc(1, sizeof *answer->store);
    if (answer->store && worked(answer, work, given))
        return answer;
    pl_release(answer);
    return NULL;
}

void pl_release(struct pl_answer *answer)
{
    if (!answer)
        return;
    while (answer->store && answer->store->first.next) {
        struct pl_chunk *chunk = answer->store->first.next;
        link_out(chunk);
        free(chunk);
    }
    free(answer->store);
    free(answer);
}

/* Thresholds of glibc as they are when it has moved them as far as it does. */
enum { MAPPED = 32 << 20, TRIMMED = 64 << 20, PADDED = 128 << 10, MUCH = 1 << 30, STEP = 16 << 20 };

void pl_keep_memory(int64_t keep)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, keep ? MUCH : MAPPED);
    mallopt(M_TRIM_THRESHOLD, keep ? MUCH : TRIMMED);
    mallopt(M_TOP_PAD, keep ? STEP : PADDED);
    if (!keep)
        malloc_trim(0);
#else
    (void)keep;
#endif
}

static int compare(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

void pl_sort(int64_t *at, int64_t count)
{
    if (count > 16) {
        qsort(at, (size_t)count, sizeof *at, compare);
        return;
    }
    for (int64_t i = 1; i < count; i++) {
        const int64_t value = at[i];
        int64_t j = i;
        for (; j && at[j - 1] > value; j--)
            at[j] = at[j - 1];
        at[j] = value;
    }
}

void pl_unique(struct pl_list *list)
{
    pl_sort(list->at, list->count);
    int64_t kept = 0;
    for (int64_t i = 0; i < list->count; i++)
        if (!kept || list->at[kept - 1] != list->at[i])
            list->at[kept++] = list->at[i];
    list->count = kept;
}
