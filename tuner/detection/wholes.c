/* Wholes that one rank gets as they are, and others in pieces (scatter and allgather), as HPL's
 * blonM does: the pieces take the place of the whole. */
#include "poly.h"
#include "tracing.h"

#include <string.h>

static void sort_by_address(const struct pl_tracing *tracing, int64_t *pieces, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        const int64_t piece = pieces[i];
        int64_t at = i;
        for (; at && tracing->items[pieces[at - 1]].address > tracing->items[piece].address; at--)
            pieces[at] = pieces[at - 1];
        pieces[at] = piece;
    }
}

/* Whether the polynomials of pieces, in this order, give that of a whole. */
static bool joins_to(const struct pl_tracing *tracing, int64_t whole, const int64_t *pieces,
                     int64_t count)
{
    const struct pl_traffic *traffic = tracing->traffic;
    const int64_t message = tracing->items[whole].first;
    const int64_t width = traffic->width[message];
    int64_t total = 0, values = 0;
    for (int64_t i = 0; i < count; i++) {
        const struct pl_item *piece = &tracing->items[pieces[i]];
        if (traffic->element[piece->first] != traffic->element[message])
            return false;
        total = pl_poly_joined(total, values, traffic->poly[piece->first]);
        values += (piece->bytes + width - 1) / width;
    }
    return total == traffic->poly[message];
}

/* Puts the pieces of a whole into its order. That is the order of their addresses; or, where a
 * derived type has its last elements in memory of their own, which may lie before the others, one
 * that begins in the middle of it. */
static bool is_made_of(const struct pl_tracing *tracing, int64_t whole, int64_t *pieces,
                       int64_t count)
{
    sort_by_address(tracing, pieces, count);
    for (int64_t turn = 0; turn < count; turn++) {
        if (joins_to(tracing, whole, pieces, count))
            return true;
        const int64_t first = pieces[0];
        memmove(pieces, pieces + 1, (size_t)(count - 1) * sizeof *pieces);
        pieces[count - 1] = first;
    }
    return false;
}

static void make_of(struct pl_tracing *tracing, int64_t whole, const int64_t *pieces, int64_t count)
{
    tracing->items[whole].made_of = tracing->made_of.count;
    tracing->items[whole].made_count = count;
    for (int64_t i = 0; i < count; i++) {
        pl_push(tracing->store, &tracing->made_of, pieces[i]);
        for (int64_t word = 0; word < tracing->words; word++)
            pl_owners(tracing, pieces[i])[word] |= pl_owners(tracing, whole)[word];
    }
}

void pl_split(struct pl_tracing *tracing, int64_t rank, int64_t item)
{
    int64_t *recent = tracing->recent[rank];
    const int64_t last = tracing->recent_count[rank]++;
    recent[last % PL_RECENT] = item;
    int64_t pieces[PL_RECENT] = {0}, count = 0, total = 0;
    for (int64_t at = last; at >= 0 && at > last - PL_RECENT; at--) {
        const int64_t other = recent[at % PL_RECENT];
        if (tracing->items[other].bytes == total && count > 1) {
            int64_t ordered[PL_RECENT];
            memcpy(ordered, pieces, sizeof ordered);
            if (is_made_of(tracing, other, ordered, count)) {
                make_of(tracing, other, ordered, count);
                return;
            }
        }
        pieces[count++] = other;
        total += tracing->items[other].bytes;
    }
}

/* A part, or the pieces that it is made of, behind the others. */
static void take_apart(struct pl_tracing *tracing, int64_t item, int64_t low, int64_t high)
{
    const struct pl_item whole = tracing->items[item];
    if (whole.made_of < 0) {
        pl_push(tracing->store, &tracing->parts, item);
        pl_push(tracing->store, &tracing->parts, low);
        pl_push(tracing->store, &tracing->parts, high);
        return;
    }
    int64_t at = 0;
    for (int64_t i = 0; i < whole.made_count; i++) {
        const int64_t piece = tracing->made_of.at[whole.made_of + i];
        const int64_t size = tracing->items[piece].bytes;
        const int64_t begin = low > at ? low : at, stop = high < at + size ? high : at + size;
        if (begin < stop)
            take_apart(tracing, piece, begin - at, stop - at);
        at += size;
    }
}

void pl_settle(struct pl_tracing *tracing)
{
    if (!tracing->made_of.count)
        return;
    for (int64_t message = 0; message < tracing->traffic->count; message++) {
        const int64_t old = tracing->first[message], count = tracing->count[message];
        bool whole = false;
        for (int64_t i = 0; i < count; i++)
            whole |= tracing->items[*pl_part(tracing, message, i)].made_of >= 0;
        if (!whole)
            continue;
        const int64_t first = tracing->parts.count / 3;
        for (int64_t i = 0; i < count; i++) {
            const int64_t *part = tracing->parts.at + 3 * (old + i);
            take_apart(tracing, part[0], part[1], part[2]);
        }
        tracing->first[message] = first;
        tracing->count[message] = tracing->parts.count / 3 - first;
    }
}
