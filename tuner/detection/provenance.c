/* Where the content of each message comes from: detect/provenance.py says what that is. */
#include "tracing.h"

#include <string.h>

struct provenance {
    const struct pl_traffic *traffic;
    const struct pl_sites *sites;
    const int64_t *without;
};

int64_t pl_item_add(struct pl_tracing *tracing, struct pl_item item)
{
    if (tracing->items_count == tracing->items_room) {
        const int64_t room = tracing->items_room ? 2 * tracing->items_room : 64;
        const size_t bits = (size_t)(room * tracing->words) * sizeof *tracing->owners;
        tracing->items =
            pl_grown(tracing->store, tracing->items, (size_t)room * sizeof *tracing->items);
        tracing->owners = pl_grown(tracing->store, tracing->owners, bits);
        tracing->direct = pl_grown(tracing->store, tracing->direct, bits);
        tracing->items_room = room;
    }
    const int64_t number = tracing->items_count++;
    const size_t words = (size_t)tracing->words;
    item.made_of = -1;
    tracing->items[number] = item;
    memset(tracing->owners + (size_t)number * words, 0, words * sizeof *tracing->owners);
    memset(tracing->direct + (size_t)number * words, 0, words * sizeof *tracing->direct);
    pl_put(pl_owners(tracing, number), item.origin);
    return number;
}

uint64_t *pl_owners(const struct pl_tracing *tracing, int64_t item)
{
    return tracing->owners + item * tracing->words;
}

static uint64_t *direct(const struct pl_tracing *tracing, int64_t item)
{
    return tracing->direct + item * tracing->words;
}

struct pl_held *pl_held(const struct pl_tracing *tracing, int64_t rank, int64_t content)
{
    const int64_t key[] = {rank, content};
    const int64_t *at = pl_map_find(&tracing->held_at, key);
    return at ? tracing->held + *at : NULL;
}

void pl_hold(struct pl_tracing *tracing, int64_t rank, int64_t content, struct pl_held held)
{
    const int64_t key[] = {rank, content};
    bool is_new;
    const int64_t at = *pl_map_add(&tracing->held_at, key, tracing->held_count, &is_new);
    if (is_new && tracing->held_count++ == tracing->held_room) {
        tracing->held_room = tracing->held_room ? 2 * tracing->held_room : 64;
        tracing->held = pl_grown(tracing->store, tracing->held,
                                 (size_t)tracing->held_room * sizeof *tracing->held);
    }
    tracing->held[at] = held;
}

/* A rank has got a part of an item. */
static void got_part(struct pl_tracing *tracing, int64_t rank, int64_t item, int64_t low,
                     int64_t high)
{
    const int64_t part[] = {item, rank, low, high};
    bool is_new;
    pl_map_add(&tracing->got, part, 0, &is_new);
    int64_t *bytes = pl_map_find(&tracing->got_bytes, part);
    if (is_new) {
        bool first;
        bytes = pl_map_add(&tracing->got_bytes, part, 0, &first);
        *bytes += high - low;
    }
    if (bytes && *bytes >= tracing->items[item].bytes)
        pl_put(pl_owners(tracing, item), rank);
}

void pl_carry(struct pl_tracing *tracing, int64_t message, int64_t first, int64_t count)
{
    const int64_t target = tracing->traffic->target[message];
    tracing->first[message] = first;
    tracing->count[message] = count;
    for (int64_t i = 0; i < count; i++) {
        const int64_t *part = pl_part(tracing, message, i);
        if (part[1] == 0 && part[2] == tracing->items[part[0]].bytes)
            pl_put(pl_owners(tracing, part[0]), target);
        else
            got_part(tracing, target, part[0], part[1], part[2]);
    }
}

static void write(struct pl_tracing *tracing, int64_t rank, int64_t address, int64_t gaps,
                  int64_t message)
{
    if (address && !gaps)
        pl_memory_write(tracing->store, &tracing->memory[rank], address,
                        address + tracing->traffic->bytes[message], message);
}

void pl_write_sent(struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    write(tracing, traffic->source[message], traffic->from_address[message],
          traffic->from_gaps[message], message);
}

static void add_origin(struct pl_tracing *tracing, int64_t content, int64_t rank)
{
    uint8_t *count = &tracing->origins_count[content];
    for (uint8_t i = 0; i < *count; i++)
        if (tracing->origins[content][i] == rank)
            return;
    if (*count < PL_COMMON)
        tracing->origins[content][(*count)++] = rank;
}

void pl_set_out(struct pl_tracing *tracing, int64_t message, int64_t again_of)
{
    const struct pl_traffic *traffic = tracing->traffic;
    const int64_t rank = traffic->source[message], bytes = traffic->bytes[message];
    const int64_t address = traffic->from_address[message], content = traffic->content[message];
    const int64_t item = pl_item_add(tracing, (struct pl_item){.origin = rank,
                                                               .bytes = bytes,
                                                               .address = address,
                                                               .first = message,
                                                               .again_of = again_of});
    if (again_of < 0 || tracing->items[again_of].origin != rank)
        add_origin(tracing, content, rank);
    pl_put(direct(tracing, item), traffic->target[message]);
    pl_hold(tracing, rank, content, (struct pl_held){message, address, 1, 0, 0});
    const int64_t first = tracing->parts.count / 3;
    pl_push(tracing->store, &tracing->parts, item);
    pl_push(tracing->store, &tracing->parts, 0);
    pl_push(tracing->store, &tracing->parts, bytes);
    pl_carry(tracing, message, first, 1);
    pl_begin_blocks(tracing, rank, item);
    if (bytes > PL_KEPT_BYTES)
        pl_split(tracing, rank, item);
    pl_write_sent(tracing, message);
}

/* Whether a content is met anywhere: a short one, or zeros. */
static bool is_cheap(const struct pl_tracing *tracing, int64_t message)
{
    return tracing->traffic->bytes[message] <= PL_KEPT_BYTES ||
           tracing->traffic->poly[message] == 0;
}

bool pl_is_near(const struct pl_sites *sites, const struct pl_rows *functions, int64_t left,
                int64_t right)
{
    if (left < 0 || right < 0 || left == right)
        return true;
    const int64_t from = functions->first[right], to = functions->first[right + 1];
    int64_t own = functions->first[left];
    const int64_t own_end = functions->first[left + 1];
    if (own == own_end || from == to)
        return sites->outermost[left] == sites->outermost[right];
    for (; own < own_end; own++)
        for (int64_t at = from; at < to; at++)
            if (functions->at[own] == functions->at[at])
                return true;
    return false;
}

/* Whether a short content, as it is met anywhere, comes and goes in one part of the program. */
static bool is_related(const struct pl_tracing *tracing, int64_t message,
                       const struct pl_held *held)
{
    const struct pl_traffic *traffic = tracing->traffic;
    return !is_cheap(tracing, message) ||
           pl_is_near(tracing->sites, &tracing->sites->functions,
                      traffic->receive_site[held->message], traffic->send_site[message]);
}

/* Whether what a rank has sets out from it anew. An origin's own does where it goes to the same
 * rank again, or lies elsewhere and means little; what was received does where it lies elsewhere,
 * and says nothing to its receiver or to anybody. */
static bool sets_out(const struct pl_tracing *tracing, int64_t message, const struct pl_held *held)
{
    if (tracing->count[held->message] != 1)
        return false;
    const struct pl_traffic *traffic = tracing->traffic;
    const int64_t item = *pl_part(tracing, held->message, 0), target = traffic->target[message];
    const bool elsewhere = held->address != traffic->from_address[message];
    if (held->own)
        return (elsewhere && is_cheap(tracing, message)) || pl_has(direct(tracing, item), target);
    if (!is_related(tracing, message, held))
        return true;
    if (!elsewhere)
        return false;
    return tracing->origins_count[traffic->content[message]] >= PL_COMMON ||
           pl_has(pl_owners(tracing, item), target);
}

static void send(struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    const struct pl_held *held =
        pl_held(tracing, traffic->source[message], traffic->content[message]);
    if (!held || held->joined_count) {
        pl_join(tracing, message, held);
        return;
    }
    if (sets_out(tracing, message, held)) {
        pl_set_out(tracing, message, *pl_part(tracing, held->message, 0));
        return;
    }
    if (held->own && tracing->count[held->message])
        pl_put(direct(tracing, *pl_part(tracing, held->message, 0)), traffic->target[message]);
    pl_carry(tracing, message, tracing->first[held->message], tracing->count[held->message]);
    pl_write_sent(tracing, message);
}

static void receive(struct pl_tracing *tracing, int64_t message)
{
    const struct pl_traffic *traffic = tracing->traffic;
    const int64_t rank = traffic->target[message], content = traffic->content[message];
    const struct pl_held *held = pl_held(tracing, rank, content);
    write(tracing, rank, traffic->to_address[message], traffic->to_gaps[message], message);
    if (held && tracing->count[message] == 1) {
        const int64_t item = *pl_part(tracing, message, 0);
        const int64_t origin = tracing->items[item].origin;
        if (origin == rank && held->own)
            return;
        if (tracing->count[held->message] == 1) {
            const int64_t known = *pl_part(tracing, held->message, 0);
            if (tracing->items[known].origin != origin) {
                pl_push(tracing->store, &tracing->meets, known);
                pl_push(tracing->store, &tracing->meets, item);
            }
        }
    }
    pl_hold(tracing, rank, content,
            (struct pl_held){message, traffic->to_address[message], 0, 0, 0});
    pl_add_blocks(tracing, message);
}

static void begin(struct pl_tracing *tracing, const struct provenance *given)
{
    const struct pl_traffic *traffic = given->traffic;
    struct pl_store *store = tracing->store;
    const size_t messages = (size_t)traffic->count, ranks = (size_t)traffic->ranks;
    tracing->traffic = traffic;
    tracing->sites = given->sites;
    tracing->words = pl_words(traffic->ranks);
    tracing->first = pl_get(store, messages, sizeof *tracing->first);
    tracing->count = pl_get(store, messages, sizeof *tracing->count);
    pl_map_begin(store, &tracing->held_at, 2);
    pl_map_begin(store, &tracing->got, 4);
    pl_map_begin(store, &tracing->got_bytes, 2);
    tracing->memory = pl_get(store, ranks, sizeof *tracing->memory);
    tracing->blocks = pl_get(store, ranks, sizeof *tracing->blocks);
    tracing->recent = pl_get(store, ranks, sizeof *tracing->recent);
    tracing->recent_count = pl_get(store, ranks, sizeof *tracing->recent_count);
    int64_t contents = 0;
    for (int64_t i = 0; i < traffic->count; i++)
        if (traffic->content[i] >= contents)
            contents = traffic->content[i] + 1;
    tracing->origins = pl_get(store, (size_t)contents, sizeof *tracing->origins);
    tracing->origins_count = pl_get(store, (size_t)contents, sizeof *tracing->origins_count);
}

/* Items of contents that many ranks have by themselves. */
static bool is_common(const struct pl_tracing *tracing, const struct pl_item *item)
{
    const struct pl_traffic *traffic = tracing->traffic;
    return tracing->origins_count[traffic->content[item->first]] >= PL_COMMON &&
           traffic->bytes[item->first] == item->bytes;
}

static void answer_items(struct pl_answer *answer, const struct pl_tracing *tracing)
{
    struct pl_list columns[6] = {{0}};
    for (int64_t i = 0; i < tracing->items_count; i++) {
        const struct pl_item *item = &tracing->items[i];
        const int64_t values[] = {item->origin, item->bytes,    item->address,
                                  item->first,  item->again_of, is_common(tracing, item)};
        for (int j = 0; j < 6; j++)
            pl_push(answer->store, &columns[j], values[j]);
    }
    for (int j = 0; j < 6; j++)
        pl_answer_list(answer, &columns[j]);
}

static void trace(struct pl_answer *answer, const void *pointer)
{
    const struct provenance *given = pointer;
    struct pl_tracing *tracing = pl_get(answer->store, 1, sizeof *tracing);
    tracing->store = answer->store;
    begin(tracing, given);
    for (int64_t i = 0; i < 2 * given->traffic->count; i++) {
        const int64_t point = given->traffic->points[i], message = point / 2;
        if (!given->traffic->bytes[message] || given->without[message])
            continue;
        if (point % 2)
            receive(tracing, message);
        else
            send(tracing, message);
    }
    pl_settle(tracing);
    answer_items(answer, tracing);
    pl_answer_with(answer, tracing->first, given->traffic->count);
    pl_answer_with(answer, tracing->count, given->traffic->count);
    pl_answer_list(answer, &tracing->parts);
    pl_answer_list(answer, &tracing->meets);
}

/* Of all messages but those `without`: items (origin, bytes, address, first, again_of, common),
 * parts by message, and pairs of items of one content and two origins, of which a rank had both. */
PL_ENTRY struct pl_answer *pl_provenance(const struct pl_traffic *traffic,
                                         const struct pl_sites *sites, const int64_t *without)
{
    return pl_answered(trace, &(struct provenance){traffic, sites, without});
}
