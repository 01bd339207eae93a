/* Messages that are made of copies: a rank has put its own block and what it got since into one
 * piece of memory (an allgather by Bruck's algorithm). Addresses tell nothing of that, but
 * polynomials do. */
#include "poly.h"
#include "tracing.h"

#include <string.h>

void pl_begin_blocks(struct pl_tracing *tracing, int64_t rank, int64_t item)
{
    tracing->blocks[rank].count = 0;
    pl_push(tracing->store, &tracing->blocks[rank], item);
}

void pl_add_blocks(struct pl_tracing *tracing, int64_t message)
{
    struct pl_list *blocks = &tracing->blocks[tracing->traffic->target[message]];
    for (int64_t i = 0; blocks->count && i < tracing->count[message]; i++) {
        const int64_t *part = pl_part(tracing, message, i);
        const struct pl_item *item = &tracing->items[part[0]];
        if (part[1] == 0 && part[2] == item->bytes &&
            item->bytes == tracing->traffic->bytes[item->first])
            pl_push(tracing->store, blocks, part[0]);
    }
}

/* Whether blocks behind each other are what a message says. */
static bool says_the_same(const struct pl_tracing *tracing, int64_t message, const int64_t *blocks,
                          int64_t count)
{
    const struct pl_traffic *traffic = tracing->traffic;
    const int64_t width = traffic->width[message];
    int64_t total = 0, values = 0;
    for (int64_t i = 0; i < count; i++) {
        const struct pl_item *block = &tracing->items[blocks[i]];
        if (traffic->element[block->first] != traffic->element[message] || block->bytes % width)
            return false;
        total = pl_poly_joined(total, values, traffic->poly[block->first]);
        values += block->bytes / width;
    }
    return total == traffic->poly[message];
}

static void sort_by_origin(const struct pl_tracing *tracing, int64_t *blocks, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        const int64_t block = blocks[i], origin = tracing->items[block].origin;
        int64_t at = i;
        for (; at && tracing->items[blocks[at - 1]].origin > origin; at--)
            blocks[at] = blocks[at - 1];
        blocks[at] = block;
    }
}

/* How many of a rank's first blocks are as long as a message; 0: none, or one. */
static int64_t as_long(const struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    const struct pl_list *blocks = &tracing->blocks[traffic->source[message]];
    int64_t bytes = 0, count = 0;
    while (count < blocks->count && bytes < traffic->bytes[message])
        bytes += tracing->items[blocks->at[count++]].bytes;
    return count > 1 && bytes == traffic->bytes[message] ? count : 0;
}

bool pl_copied(struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    const int64_t rank = traffic->source[message], count = as_long(tracing, message);
    if (!count || !traffic->poly[message])
        return false;
    int64_t *blocks = pl_get(tracing->store, (size_t)count, sizeof *blocks);
    memcpy(blocks, tracing->blocks[rank].at, (size_t)count * sizeof *blocks);
    bool is_same = says_the_same(tracing, message, blocks, count);
    if (!is_same && count <= traffic->ranks) { /* by ranks, rather than as they came */
        sort_by_origin(tracing, blocks, count);
        is_same = says_the_same(tracing, message, blocks, count);
    }
    const int64_t first = tracing->parts.count / 3;
    for (int64_t i = 0; is_same && i < count; i++) {
        pl_push(tracing->store, &tracing->parts, blocks[i]);
        pl_push(tracing->store, &tracing->parts, 0);
        pl_push(tracing->store, &tracing->parts, tracing->items[blocks[i]].bytes);
    }
    pl_give_back(blocks);
    if (is_same) {
        pl_hold(tracing, rank, traffic->content[message],
                (struct pl_held){message, traffic->from_address[message], 0, 0, 0});
        pl_carry(tracing, message, first, count);
        pl_write_sent(tracing, message);
    }
    return is_same;
}
