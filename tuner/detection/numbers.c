/* Pairs of numbers that are equal, found by a table and not by sorting: by one of all pairs where
 * they are few, else by their hashes. */
#include "numbers.h"

#include "map.h"

struct pairs {
    int64_t count;
    const int64_t *left, *right;
};

struct range {
    int64_t least;
    uint64_t span; /* UINT64_MAX: more than that */
};

static struct range range_of(const int64_t *at, int64_t count)
{
    int64_t least = count ? *at : 0, most = least;
    for (int64_t i = 0; i < count; i++) {
        least = at[i] < least ? at[i] : least;
        most = at[i] > most ? at[i] : most;
    }
    const uint64_t span = (uint64_t)most - (uint64_t)least;
    return (struct range){least, span == UINT64_MAX ? span : span + 1};
}

/* Places in a table of all pairs that there may be; NULL where these are too many. */
static int64_t *direct(struct pl_store *store, const struct pairs *pairs, int64_t *numbers,
                       int64_t *classes)
{
    const struct range left = range_of(pairs->left, pairs->count);
    const struct range right = range_of(pairs->right, pairs->count);
    const uint64_t most = 1024 + 4 * (uint64_t)pairs->count;
    if (left.span > most || right.span > most || left.span * right.span > most)
        return NULL;
    int64_t *table = pl_get(store, left.span * right.span, sizeof *table);
    for (int64_t i = 0; i < pairs->count; i++) {
        const uint64_t row = (uint64_t)(pairs->left[i] - left.least);
        int64_t *place = table + row * right.span + (uint64_t)(pairs->right[i] - right.least);
        if (!*place)
            *place = ++*classes;
        numbers[i] = *place - 1;
    }
    return table;
}

int64_t pl_number(struct pl_store *store, int64_t count, const int64_t *left, const int64_t *right,
                  int64_t *numbers)
{
    const struct pairs pairs = {count, left, right};
    int64_t found = 0, *table = direct(store, &pairs, numbers, &found);
    if (table) {
        pl_give_back(table);
        return found;
    }
    struct pl_map classes;
    pl_map_begin(store, &classes, 2);
    for (int64_t i = 0; i < count; i++) {
        const int64_t key[] = {left[i], right[i]};
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
    pl_number(answer->store, pairs->count, pairs->left, pairs->right, numbers);
    pl_answer_with(answer, numbers, pairs->count);
}

/* By pair its number: equal pairs have one. */
PL_ENTRY struct pl_answer *pl_numbers(int64_t count, const int64_t *left, const int64_t *right)
{
    return pl_answered(number_all, &(struct pairs){count, left, right});
}

void pl_by_row(struct pl_store *store, int64_t count, const int64_t *owners, int64_t rows,
               int64_t **first, int64_t **at)
{
    int64_t *begins = pl_get(store, (size_t)rows + 2, sizeof *begins);
    *at = pl_get(store, (size_t)count, sizeof **at);
    for (int64_t i = 0; i < count; i++)
        begins[owners[i] + 2]++;
    for (int64_t i = 0; i < rows; i++)
        begins[i + 2] += begins[i + 1];
    for (int64_t i = 0; i < count; i++)
        (*at)[begins[owners[i] + 1]++] = i;
    *first = begins;
}

static void sort_all(struct pl_answer *answer, const void *pointer)
{
    const struct pairs *owners = pointer;
    const int64_t count = owners->count, rows = *owners->right;
    int64_t *first, *at;
    pl_by_row(answer->store, count, owners->left, rows, &first, &at);
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
    const int64_t classes =
        pl_number(answer->store, pairs->count, pairs->left, pairs->right, numbers);
    sort_all(answer, &(struct pairs){pairs->count, numbers, &classes});
}

/* Indices of equal pairs, by class. */
PL_ENTRY struct pl_answer *pl_classes(int64_t count, const int64_t *left, const int64_t *right)
{
    return pl_answered(class_all, &(struct pairs){count, left, right});
}
