/* Hash tables. */
#include "map.h"

#include <string.h>

static uint64_t stirred(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

enum { FIRST_ROOM = 64, WIDER = 4 };

/* In the place of a value: the place is free. */
#define FREE INT64_MIN

static int64_t *place_at(const struct pl_map *map, int64_t at)
{
    return map->places + at * (map->width + 1);
}

static void make_places(struct pl_map *map, int64_t room)
{
    map->room = room;
    map->places = pl_get(map->store, (size_t)room, (size_t)(map->width + 1) * sizeof *map->places);
    pl_map_clear(map);
}

void pl_map_begin(struct pl_store *store, struct pl_map *map, int64_t width)
{
    *map = (struct pl_map){.store = store, .width = width};
    make_places(map, FIRST_ROOM);
}

void pl_map_end(struct pl_map *map)
{
    pl_give_back(map->places);
}

void pl_map_clear(struct pl_map *map)
{
    for (int64_t at = 0; at < map->room; at++)
        place_at(map, at)[map->width] = FREE;
    map->used = 0;
}

static bool is_equal(const int64_t *left, const int64_t *right, int64_t width)
{
    for (int64_t i = 0; i < width; i++)
        if (left[i] != right[i])
            return false;
    return true;
}

/* The place of a key, or the free one where it would be. */
static int64_t *place_of(const struct pl_map *map, const int64_t *key)
{
    uint64_t hash = 0;
    for (int64_t i = 0; i < map->width; i++)
        hash = stirred(hash, (uint64_t)key[i]);
    const int64_t mask = map->room - 1;
    int64_t at = (int64_t)(hash >> 7) & mask;
    int64_t *place = place_at(map, at);
    while (place[map->width] != FREE && !is_equal(place, key, map->width))
        place = place_at(map, at = (at + 1) & mask);
    return place;
}

int64_t *pl_map_find(const struct pl_map *map, const int64_t *key)
{
    int64_t *place = place_of(map, key);
    return place[map->width] == FREE ? NULL : place + map->width;
}

static void widen(struct pl_map *map)
{
    const struct pl_map old = *map;
    make_places(map, WIDER * old.room);
    for (int64_t at = 0; at < old.room; at++) {
        const int64_t *place = place_at(&old, at);
        if (place[old.width] != FREE)
            memcpy(place_of(map, place), place, (size_t)(old.width + 1) * sizeof *place);
    }
    map->used = old.used;
    pl_give_back(old.places);
}

int64_t *pl_map_add(struct pl_map *map, const int64_t *key, int64_t value, bool *is_new)
{
    if (2 * map->used >= map->room)
        widen(map);
    int64_t *place = place_of(map, key);
    *is_new = place[map->width] == FREE;
    if (*is_new) {
        map->used++;
        memcpy(place, key, (size_t)map->width * sizeof *key);
        place[map->width] = value;
    }
    return place + map->width;
}

void pl_sets_begin(struct pl_store *store, struct pl_sets *sets, int64_t ranks)
{
    *sets = (struct pl_sets){.store = store, .words = pl_words(ranks), .places = 64};
    sets->place = pl_get(store, (size_t)sets->places, sizeof *sets->place);
    memset(sets->place, -1, (size_t)sets->places * sizeof *sets->place);
}

static int64_t place_of_set(const struct pl_sets *sets, const uint64_t *bits)
{
    uint64_t hash = 0;
    for (int64_t i = 0; i < sets->words; i++)
        hash = stirred(hash, bits[i]);
    const int64_t mask = sets->places - 1;
    int64_t at = (int64_t)(hash >> 7) & mask;
    while (sets->place[at] >= 0 &&
           memcmp(pl_set(sets, sets->place[at]), bits, (size_t)sets->words * sizeof *bits) != 0)
        at = (at + 1) & mask;
    return at;
}

int64_t pl_set_find(const struct pl_sets *sets, const uint64_t *bits)
{
    return sets->place[place_of_set(sets, bits)];
}

static void widen_sets(struct pl_sets *sets)
{
    pl_give_back(sets->place);
    sets->places *= 2;
    sets->place = pl_get(sets->store, (size_t)sets->places, sizeof *sets->place);
    memset(sets->place, -1, (size_t)sets->places * sizeof *sets->place);
    for (int64_t i = 0; i < sets->count; i++)
        sets->place[place_of_set(sets, pl_set(sets, i))] = i;
}

int64_t pl_set_add(struct pl_sets *sets, const uint64_t *bits)
{
    const int64_t known = pl_set_find(sets, bits);
    if (known >= 0)
        return known;
    if (2 * sets->count >= sets->places)
        widen_sets(sets);
    if (sets->count == sets->room) {
        sets->room = sets->room ? 2 * sets->room : 64;
        sets->bits = pl_grown(sets->store, sets->bits,
                              (size_t)(sets->room * sets->words) * sizeof *sets->bits);
    }
    memcpy(sets->bits + sets->count * sets->words, bits, (size_t)sets->words * sizeof *bits);
    sets->place[place_of_set(sets, bits)] = sets->count;
    return sets->count++;
}
