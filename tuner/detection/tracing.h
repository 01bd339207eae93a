/* What is known while messages are followed in causal order (detect/provenance.py). */
#ifndef PL_DETECTION_TRACING_H
#define PL_DETECTION_TRACING_H

#include "map.h"
#include "memory.h"
#include "traffic.h"

enum {
    PL_COMMON = 3,  /* from so many independent origins a content is no news: zeros, flags */
    PL_RECENT = 32, /* items of a rank among which a whole and its pieces are looked for */
};

/* What a rank sends without having it from anybody. `again_of`: the item of the same content that
 * its origin had already, or -1. `made_of`: the first of `made_count` pieces, or -1. */
struct pl_item {
    int64_t origin, bytes, address, first, again_of, made_of, made_count;
};

/* A content that a rank has: the message by which it came or went, where it lies, whether it set
 * out here, and of what it was put together here. */
struct pl_held {
    int64_t message, address, own, joined, joined_count;
};

/* What is known to lie in an interval. */
struct pl_lying {
    int64_t low, high, message, offset;
};

struct pl_lying_list {
    struct pl_lying *at;
    int64_t count, room;
};

/* Functions on the call sites, but the outermost; of the two innermost frames; and the outermost
 * frame, numbered. */
struct pl_sites {
    struct pl_rows functions, nearest;
    const int64_t *outermost;
};

struct pl_tracing {
    struct pl_store *store;
    const struct pl_traffic *traffic;
    const struct pl_sites *sites;
    int64_t words;
    struct pl_item *items;
    uint64_t *owners, *direct; /* by item: ranks that have all of it; that its origin sent it to */
    int64_t items_count, items_room;
    struct pl_list parts, meets, made_of;
    int64_t *first, *count; /* by message: its parts */
    struct pl_map held_at;  /* (rank, content) */
    struct pl_held *held;
    int64_t held_count, held_room;
    struct pl_lying_list joined, found;
    struct pl_list scratch;
    struct pl_memory *memory;      /* by rank */
    struct pl_map got, got_bytes;  /* pieces of items at ranks, and how much they are together */
    int64_t (*origins)[PL_COMMON]; /* by content */
    uint8_t *origins_count;
    struct pl_list *blocks;       /* by rank: its newest item, and what it got since (copies.c) */
    int64_t (*recent)[PL_RECENT]; /* by rank */
    int64_t *recent_count;
};

static inline const int64_t *pl_part(const struct pl_tracing *tracing, int64_t message, int64_t at)
{
    return tracing->parts.at + 3 * (tracing->first[message] + at);
}

int64_t pl_item_add(struct pl_tracing *tracing, struct pl_item item);
uint64_t *pl_owners(const struct pl_tracing *tracing, int64_t item);
/* A message carries the parts that begin at `first`. */
void pl_carry(struct pl_tracing *tracing, int64_t message, int64_t first, int64_t count);
/* A content sets out anew with a message. */
void pl_set_out(struct pl_tracing *tracing, int64_t message, int64_t again_of);
/* What a rank has of a content; NULL: nothing. */
struct pl_held *pl_held(const struct pl_tracing *tracing, int64_t rank, int64_t content);
void pl_hold(struct pl_tracing *tracing, int64_t rank, int64_t content, struct pl_held held);
/* What a message is sent from has its content. */
void pl_write_sent(struct pl_tracing *tracing, int64_t message);
/* Whether two call sites are in one part of the program: they have one of these functions in
 * common, or, without names, the outermost frame. */
bool pl_is_near(const struct pl_sites *sites, const struct pl_rows *functions, int64_t left,
                int64_t right);
/* A message that is made of what lies at its address, or new (joins.c). */
void pl_join(struct pl_tracing *tracing, int64_t message, const struct pl_held *held);
/* A rank has sent an item of its own; it has got a message. */
void pl_begin_blocks(struct pl_tracing *tracing, int64_t rank, int64_t item);
void pl_add_blocks(struct pl_tracing *tracing, int64_t message);
/* Whether a message is made of copies of these: then it carries them. */
bool pl_copied(struct pl_tracing *tracing, int64_t message);
/* An item has set out: looks whether it is the last piece of a whole (wholes.c). */
void pl_split(struct pl_tracing *tracing, int64_t rank, int64_t item);
/* Puts pieces in the place of wholes. */
void pl_settle(struct pl_tracing *tracing);

#endif
