/* Pairs of numbers that are equal, found by a table and not by sorting. */
#include "map.h"

struct pairs {
    int64_t count;
    const int64_t *left, *right;
};

/* By pair the number of its class, in the order in which they come first; how many classes. */
static int64_t number(struct pl_store *store, const struct pairs *pairs, int64_t *numbers)
{
    struct pl_map classes;
    pl_map_begin(store, &classes, 2);
    for (int64_t i = 0; i < pairs->count; i++) {
        const int64_t key[] = {pairs->left[i], pairs->right[i]};
        bool is_new;
        numbers[i] = *pl_map_add(&classes, key, classes.used, &is_new);
    }
    pl_map_end(&classes);
    return classes.used;
}

static void number_all(struct pl_answer *answer, const void *pointer)
{
    const struct pairs *pairs = pointer;
    int64_t *numbers = pl_get(answer->store, (size_t)pairs->count, sizeof *numbers);
    number(answer->store, pairs, numbers);
    pl_answer_with(answer, numbers, pairs->count);
}

/* By pair its number: equal pairs have one. */
PL_ENTRY struct pl_answer *pl_numbers(int64_t count, const int64_t *left, const int64_t *right)
{
    return pl_answered(number_all, &(struct pairs){count, left, right});
}

static void sort_all(struct pl_answer *answer, const void *pointer)
{
    const struct pairs *owners = pointer;
    const int64_t count = owners->count, rows = *owners->right;
    int64_t *first = pl_get(answer->store, (size_t)rows + 2, sizeof *first);
    int64_t *at = pl_get(answer->store, (size_t)count, sizeof *at);
    for (int64_t i = 0; i < count; i++)
        first[owners->left[i] + 2]++;
    for (int64_t i = 0; i < rows; i++)
        first[i + 2] += first[i + 1];
    for (int64_t i = 0; i < count; i++)
        at[first[owners->left[i] + 1]++] = i;
    pl_answer_with(answer, first, rows + 1);
    pl_answer_with(answer, at, count);
}

/* Indices by owner, in order; owners are in [0, rows). */
PL_ENTRY struct pl_answer *pl_by_owner(int64_t count, const int64_t *owners, int64_t rows)
{
    return pl_answered(sort_all, &(struct pairs){count, owners, &rows});
}

static void class_all(struct pl_answer *answer, const void *pointer)
{
    const struct pairs *pairs = pointer;
    int64_t *numbers = pl_get(answer->store, (size_t)pairs->count, sizeof *numbers);
    const int64_t classes = number(answer->store, pairs, numbers);
    sort_all(answer, &(struct pairs){pairs->count, numbers, &classes});
}

/* Indices of equal pairs, by class. */
PL_ENTRY struct pl_answer *pl_classes(int64_t count, const int64_t *left, const int64_t *right)
{
    return pl_answered(class_all, &(struct pairs){count, left, right});
}
