/* Messages that are made of what lies at their address: a piece of what was received, or several
 * things side by side, among which may be some of the rank's own. */
#include "poly.h"
#include "tracing.h"

#include <string.h>

static void add_lying(struct pl_tracing *tracing, struct pl_lying_list *list, struct pl_lying known)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        list->at = pl_grown(tracing->store, list->at, (size_t)list->room * sizeof *list->at);
    }
    list->at[list->count++] = known;
}

/* What is known in the interval that a message is sent from, into `found`. */
static void look(struct pl_tracing *tracing, int64_t rank, int64_t start, int64_t end)
{
    const struct pl_memory *memory = &tracing->memory[rank];
    tracing->found.count = 0;
    struct pl_memory_place place = pl_memory_from(memory, start);
    for (const struct pl_memory_part *part;
         (part = pl_memory_at(memory, place)) && part->start < end;
         pl_memory_next(memory, &place)) {
        const int64_t low = part->start > start ? part->start : start;
        const int64_t high = part->end < end ? part->end : end;
        add_lying(tracing, &tracing->found,
                  (struct pl_lying){low, high, part->message, part->offset + low - part->start});
    }
}

/* The parts of what lies in an interval, behind those in `into`; from `merged` on neighbouring
 * bytes of an item become one part (merged < 0: never). */
static void cut(struct pl_tracing *tracing, const struct pl_lying *known, struct pl_list *into,
                int64_t merged)
{
    const int64_t count = tracing->count[known->message];
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t *part = pl_part(tracing, known->message, i);
        const int64_t item = part[0], size = part[2] - part[1], first = part[1] - at;
        const int64_t end = known->offset + known->high - known->low;
        const int64_t low = known->offset > at ? known->offset : at;
        const int64_t high = end < at + size ? end : at + size;
        at += size;
        if (low >= high)
            continue;
        int64_t *last = into->count ? into->at + into->count - 3 : NULL;
        if (merged >= 0 && into->count > 3 * merged && last[0] == item && last[2] == first + low) {
            last[2] = first + high;
            continue;
        }
        pl_push(tracing->store, into, item);
        pl_push(tracing->store, into, first + low);
        pl_push(tracing->store, into, first + high);
    }
}

/* Whether polynomials of messages that lie behind each other give that of the message. True also
 * where they cannot say. */
static bool polynomials_fit(const struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    int64_t total = 0, values = 0, covered = 0;
    for (int64_t i = 0; i < tracing->found.count; i++) {
        const struct pl_lying *known = &tracing->found.at[i];
        const int64_t size = known->high - known->low, source = known->message;
        if (known->offset || traffic->bytes[source] != size ||
            traffic->element[source] != traffic->element[message])
            return true;
        total = pl_poly_joined(total, values, traffic->poly[source]);
        values += (size + traffic->width[message] - 1) / traffic->width[message];
        covered += size;
    }
    return covered < traffic->bytes[message] || total == traffic->poly[message];
}

/* Whether the contents that are known to lie there are still there. A piece of a longer message can
 * be looked at only where bytes are kept. */
static bool is_plausible(const struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    const struct pl_lying *known = tracing->found.at;
    const int64_t start = traffic->from_address[message], bytes = traffic->bytes[message];
    if (tracing->found.count == 1 && known->low == start && known->high == start + bytes &&
        known->offset == 0 && traffic->bytes[known->message] == bytes)
        return false; /* another content, as long, was there */
    if (bytes > PL_KEPT_BYTES)
        return polynomials_fit(tracing, message);
    const uint8_t *payload = pl_payload(traffic, message);
    for (int64_t i = 0; i < tracing->found.count; i++, known++) {
        const uint8_t *older = pl_payload(traffic, known->message) + known->offset;
        if (traffic->bytes[known->message] <= PL_KEPT_BYTES &&
            memcmp(payload + known->low - start, older, (size_t)(known->high - known->low)) != 0)
            return false;
    }
    return true;
}

/* Whether a piece is of a rank's own, from where it has sent more, or was never sent by itself:
 * rather other things in its place. */
static bool is_stale(const struct pl_tracing *tracing, int64_t rank, const int64_t *part)
{
    const struct pl_item *item = &tracing->items[part[0]];
    return item->origin == rank &&
           (part[2] - part[1] < item->bytes || item->bytes < tracing->traffic->bytes[item->first]);
}

/* Whether a piece of a longer message came in another part of the program than where it goes:
 * nothing proves that it is still there. */
static bool is_unrelated(const struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    for (int64_t i = 0; i < tracing->found.count; i++) {
        const struct pl_lying *piece = &tracing->found.at[i];
        const int64_t known = piece->message;
        const bool came = traffic->target[known] == traffic->source[message];
        if (piece->high - piece->low < traffic->bytes[known] &&
            !pl_is_near(tracing->sites, &tracing->sites->nearest,
                        came ? traffic->receive_site[known] : traffic->send_site[known],
                        traffic->send_site[message]))
            return true;
    }
    return false;
}

/* Whether a long message is rather something else than what lay there. */
static bool is_doubtful(const struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    int64_t covered = 0;
    bool is_cut = false;
    for (int64_t i = 0; i < tracing->found.count; i++) {
        const struct pl_lying *known = &tracing->found.at[i];
        covered += known->high - known->low;
        is_cut |= known->high - known->low < traffic->bytes[known->message];
    }
    if (is_cut && covered < traffic->bytes[message])
        return true;
    /* A panel that is shorter than the one before, in its place. */
    const struct pl_lying *first = tracing->found.at;
    if (is_cut && tracing->found.count == 1 && !first->offset &&
        2 * covered > traffic->bytes[first->message])
        return true;
    for (int64_t i = 0; i < tracing->scratch.count; i += 3)
        if (is_stale(tracing, traffic->source[message], tracing->scratch.at + i))
            return true;
    return false;
}

/* Finds what a message can be made of; false: of nothing, or its receiver has all of it. */
static bool find_pieces(struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    if (traffic->from_gaps[message])
        return false;
    const int64_t start = traffic->from_address[message], target = traffic->target[message];
    look(tracing, traffic->source[message], start, start + traffic->bytes[message]);
    if (!tracing->found.count || !is_plausible(tracing, message) || is_unrelated(tracing, message))
        return false;
    tracing->scratch.count = 0;
    for (int64_t i = 0; i < tracing->found.count; i++)
        cut(tracing, &tracing->found.at[i], &tracing->scratch, -1);
    bool is_known = true;
    for (int64_t i = 0; i < tracing->scratch.count; i += 3)
        is_known &= pl_has(pl_owners(tracing, tracing->scratch.at[i]), target);
    if (is_known)
        return false; /* the place is used again */
    return traffic->bytes[message] <= PL_KEPT_BYTES || !is_doubtful(tracing, message);
}

/* The message's parts; gaps are things of the rank's own. */
static void fill(struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    const int64_t first = tracing->parts.count / 3, start = traffic->from_address[message];
    const int64_t end = start + traffic->bytes[message];
    int64_t at = start;
    for (int64_t i = 0; i <= tracing->found.count; i++) {
        const bool last = i == tracing->found.count;
        const int64_t low = last ? end : tracing->found.at[i].low;
        if (low > at) {
            const struct pl_item gap = {.origin = traffic->source[message],
                                        .bytes = low - at,
                                        .address = at,
                                        .first = message,
                                        .again_of = -1};
            pl_push(tracing->store, &tracing->parts, pl_item_add(tracing, gap));
            pl_push(tracing->store, &tracing->parts, 0);
            pl_push(tracing->store, &tracing->parts, low - at);
        }
        if (last)
            break;
        cut(tracing, &tracing->found.at[i], &tracing->parts, first);
        at = tracing->found.at[i].high;
    }
    pl_carry(tracing, message, first, tracing->parts.count / 3 - first);
}

void pl_join(struct pl_tracing *tracing, int64_t message, const struct pl_held *held)
{
    const struct pl_traffic *traffic = tracing->traffic;
    if (pl_copied(tracing, message))
        return;
    if (!find_pieces(tracing, message)) {
        pl_set_out(tracing, message, -1);
        return;
    }
    const struct pl_lying_list *found = &tracing->found;
    const size_t size = (size_t)found->count * sizeof *found->at;
    if (held && held->joined_count == found->count &&
        memcmp(tracing->joined.at + held->joined, found->at, size) == 0) {
        pl_carry(tracing, message, tracing->first[held->message], tracing->count[held->message]);
        return;
    }
    const int64_t first = tracing->joined.count;
    for (int64_t i = 0; i < found->count; i++)
        add_lying(tracing, &tracing->joined, found->at[i]);
    pl_hold(tracing, traffic->source[message], traffic->content[message],
            (struct pl_held){message, traffic->from_address[message], 0, first, found->count});
    fill(tracing, message);
}
