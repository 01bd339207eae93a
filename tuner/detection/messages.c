/* Messages as columns (detect/traffic.py): fields of their two events, what is equal as numbers,
 * and when they came and went. */
#include "map.h"
#include "numbers.h"
#include "recorded.h"

/* `sends`, `receives`: events by message; `points`: sends (2 · message) and receives, in causal
 * order. */
struct messages {
    const struct pl_event_rows *events;
    int64_t count, ranks;
    const int64_t *sends, *receives, *points;
};

struct fields {
    int64_t *source, *target, *comm, *tag, *bytes, *kind, *content, *element, *from_address;
    int64_t *to_address, *from_gaps, *to_gaps, *send_site, *receive_site, *poly, *sent, *received;
    int64_t *sent_as;
};

enum { FIELDS = sizeof(struct fields) / sizeof(int64_t *) };

/* Whether a content is known, and arrived as it was sent. Types do not matter: what came as doubles
 * may go on as bytes. */
static bool arrived(const struct pl_event *send, const struct pl_event *receive)
{
    return !((send->flags | receive->flags) & (PL_UNKNOWN_CONTENT | PL_FAILED)) &&
           send->content == receive->content && send->bytes == receive->bytes;
}

/* Events of messages lie anywhere: those of later ones are asked for in time. */
enum { AHEAD = 12 };

static void ask_for(const struct pl_event *event)
{
    __builtin_prefetch(event);
    __builtin_prefetch(&event->signature);
    __builtin_prefetch(&event->site);
}

static void take_fields(const struct messages *given, struct fields *fields, int64_t *known)
{
    for (int64_t i = 0; i < given->count; i++) {
        if (i + AHEAD < given->count) {
            ask_for(&given->events->at[given->sends[i + AHEAD]]);
            ask_for(&given->events->at[given->receives[i + AHEAD]]);
        }
        const struct pl_event *send = &given->events->at[given->sends[i]];
        const struct pl_event *receive = &given->events->at[given->receives[i]];
        fields->source[i] = send->rank;
        fields->target[i] = receive->rank;
        fields->comm[i] = send->comm;
        fields->tag[i] = send->tag;
        fields->bytes[i] = send->bytes;
        fields->kind[i] = (int64_t)send->signature;
        fields->content[i] = (int64_t)send->content;
        fields->element[i] = send->element;
        fields->from_address[i] = (int64_t)send->address;
        fields->to_address[i] = (int64_t)receive->address;
        fields->from_gaps[i] = (send->flags & PL_NOT_CONTIGUOUS) != 0;
        fields->to_gaps[i] = (receive->flags & PL_NOT_CONTIGUOUS) != 0;
        fields->send_site[i] = send->site;
        fields->receive_site[i] = receive->site;
        fields->poly[i] = (int64_t)send->poly;
        known[i] = arrived(send, receive);
    }
}

static void take_times(struct pl_store *store, const struct messages *given, struct fields *fields)
{
    int64_t *done = pl_get(store, (size_t)given->ranks, sizeof *done); /* by rank: points */
    for (int64_t i = 0; i < 2 * given->count; i++) {
        const int64_t message = given->points[i] / 2;
        if (given->points[i] % 2) {
            fields->received[message] = i;
            done[fields->target[message]]++;
        } else {
            fields->sent[message] = i;
            fields->sent_as[message] = done[fields->source[message]]++;
        }
    }
}

static void take(struct pl_answer *answer, const void *pointer)
{
    const struct messages *given = pointer;
    struct pl_store *store = answer->store;
    const size_t count = (size_t)given->count;
    union {
        struct fields named;
        int64_t *at[FIELDS];
    } fields;
    for (int i = 0; i < FIELDS; i++)
        pl_answer_with(answer, fields.at[i] = pl_get(store, count, sizeof **fields.at),
                       given->count);
    int64_t *known = pl_get(store, count, sizeof *known);
    take_fields(given, &fields.named, known);
    take_times(store, given, &fields.named);
    const int64_t *bytes = fields.named.bytes;
    int64_t *content = fields.named.content;
    pl_number(store, given->count, content, bytes, content);
    pl_number(store, given->count, fields.named.kind, bytes, fields.named.kind);
    for (int64_t i = 0; i < given->count; i++)
        if (!known[i])
            content[i] = given->count + i;
}

/* Columns of Traffic, in its order, from `source` to `sent_as`. Equal contents have one number;
 * unknown ones, and those that changed on their way, one each. */
PL_ENTRY struct pl_answer *pl_messages(const struct pl_event_rows *events, const int64_t *sends,
                                       const int64_t *receives, const int64_t *points,
                                       int64_t count, int64_t ranks)
{
    return pl_answered(take, &(struct messages){events, count, ranks, sends, receives, points});
}

/* Messages of a way, from one rank to another one, and of the way back. */
struct crossing {
    int64_t count;
    const int64_t *post, *end, *way, *back;
    int64_t ways;
};

/* Sorted numbers, among which places are looked for, each near the one before. */
struct times {
    int64_t *at;
    int64_t count, near;
};

static struct times times_of(struct pl_store *store, const int64_t *messages, int64_t count,
                             const int64_t *column)
{
    struct times times = {pl_get(store, (size_t)count, sizeof *times.at), count, 0};
    bool is_sorted = true;
    for (int64_t i = 0; i < count; i++) {
        times.at[i] = column[messages[i]];
        is_sorted &= !i || times.at[i - 1] <= times.at[i];
    }
    if (!is_sorted)
        pl_sort(times.at, count);
    return times;
}

/* How many are before a value. */
static int64_t before(struct times *times, int64_t value)
{
    int64_t low = times->near, high = times->near;
    for (int64_t step = 1; low > 0 && times->at[low - 1] >= value; step *= 2)
        high = low, low = low > step ? low - step : 0;
    for (int64_t step = 1; high < times->count && times->at[high] < value; step *= 2)
        low = high + 1, high = high + step < times->count ? high + step : times->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (times->at[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return times->near = low;
}

static void cross(struct pl_answer *answer, const void *pointer)
{
    const struct crossing *given = pointer;
    struct pl_store *store = answer->store;
    int64_t *crossed = pl_get(store, (size_t)given->count, sizeof *crossed), *first, *at;
    pl_by_row(store, given->count, given->way, given->ways, &first, &at);
    for (int64_t way = 0; way < given->ways; way++) {
        const int64_t back = given->back[way];
        if (back < 0)
            continue;
        const int64_t count = first[back + 1] - first[back];
        struct times posts = times_of(store, at + first[back], count, given->post);
        struct times ends = times_of(store, at + first[back], count, given->end);
        for (int64_t i = first[way]; i < first[way + 1]; i++) {
            const int64_t message = at[i];
            crossed[message] =
                before(&posts, given->end[message]) > before(&ends, given->post[message] + 1);
        }
        pl_give_back(posts.at);
        pl_give_back(ends.at);
    }
    pl_answer_with(answer, crossed, given->count);
}

/* By message: whether one of the way back was begun before it was there, and was not there when it
 * was begun. `post`: when it was begun to be sent; `end`: when it was there; `way`: a number; by
 * way `back`: the number of the way back, or -1. */
PL_ENTRY struct pl_answer *pl_crossed(int64_t count, const int64_t *post, const int64_t *end,
                                      const int64_t *way, int64_t ways, const int64_t *back)
{
    return pl_answered(cross, &(struct crossing){count, post, end, way, back, ways});
}
