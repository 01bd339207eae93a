/* Tables by keys of some numbers, and sets of ranks that are numbered. */
#ifndef PL_DETECTION_MAP_H
#define PL_DETECTION_MAP_H

#include "store.h"

#include <stdbool.h>

/* Open addressing. `width`: numbers of a key; a place is its key and a value. */
struct pl_map {
    struct pl_store *store;
    int64_t width, used, room;
    int64_t *places;
};

void pl_map_begin(struct pl_store *store, struct pl_map *map, int64_t width);
/* Where the value of a key is; NULL: it is not there. Holds until the next key is added. */
int64_t *pl_map_find(const struct pl_map *map, const int64_t *key);
/* The same; a new key gets `value`. */
int64_t *pl_map_add(struct pl_map *map, const int64_t *key, int64_t value, bool *is_new);
void pl_map_clear(struct pl_map *map);
void pl_map_end(struct pl_map *map);

/* Sets of ranks as bits, each once. */
struct pl_sets {
    struct pl_store *store;
    int64_t words, count, room, places;
    uint64_t *bits;
    int64_t *place; /* numbers by hash, -1: free */
};

void pl_sets_begin(struct pl_store *store, struct pl_sets *sets, int64_t ranks);
/* The number of a set; -1: it is not there. */
int64_t pl_set_find(const struct pl_sets *sets, const uint64_t *bits);
int64_t pl_set_add(struct pl_sets *sets, const uint64_t *bits);

static inline const uint64_t *pl_set(const struct pl_sets *sets, int64_t number)
{
    return sets->bits + number * sets->words;
}

static inline bool pl_has(const uint64_t *bits, int64_t at)
{
    return bits[at / 64] >> (at % 64) & 1;
}

static inline void pl_put(uint64_t *bits, int64_t at)
{
    bits[at / 64] |= UINT64_C(1) << (at % 64);
}

static inline int64_t pl_words(int64_t ranks)
{
    return ranks / 64 + 1;
}

#endif
