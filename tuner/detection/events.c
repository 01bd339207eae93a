/* Slots of a rank's file as events of a recording: detect/recording.py says which slots there may
 * be, detect/read.py what an event is. */
#include "map.h"
#include "recorded.h"
#include "traffic.h"

#include <string.h>

/* Fields of which it is looked at what lies in a file, in the order of record_file.FIELDS. */
enum { FIELDS = 15 };

struct slots {
    int64_t count;
    const struct pl_slot *at;
};

static bool is_event(const struct pl_slot *slot)
{
    return slot->kind != PL_UNUSED && slot->kind != PL_PIECE;
}

static void widen_to(int64_t *least, int64_t *most, int64_t value)
{
    *least = value < *least ? value : *least;
    *most = value > *most ? value : *most;
}

/* What of an unsigned number does not fit is more than anything that does. */
static int64_t bounded(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void look_at(const struct pl_slot *slot, int64_t *least, int64_t *most)
{
    const bool in_order = slot->post <= slot->start && slot->start <= slot->end;
    const int64_t values[FIELDS] = {slot->kind,          slot->mode,     slot->element,
                                    slot->operation,     slot->function, slot->flags,
                                    bounded(slot->poly), slot->bytes,    slot->extent,
                                    slot->peer,          slot->blocks,   in_order,
                                    slot->post,          slot->end,      slot->site};
    for (int i = 0; i < FIELDS; i++)
        widen_to(least + i, most + i, values[i]);
}

/* Keys that events have, and by key the largest number that comes with it. */
static void note(struct pl_store *store, struct pl_map *known, struct pl_list *keys, int64_t key,
                 int64_t number)
{
    bool is_new;
    int64_t *most = pl_map_add(known, &key, number, &is_new);
    if (is_new)
        pl_push(store, keys, key);
    *most = number > *most ? number : *most;
}

static void survey(struct pl_answer *answer, const void *pointer)
{
    const struct slots *slots = pointer;
    struct pl_store *store = answer->store;
    struct pl_list pieces = {0}, comms = {0}, peers = {0}, sites = {0};
    struct pl_map of_comm, of_site;
    pl_map_begin(store, &of_comm, 1);
    pl_map_begin(store, &of_site, 1);
    int64_t *least = pl_get(store, FIELDS, sizeof *least),
            *most = pl_get(store, FIELDS, sizeof *most);
    for (int i = 0; i < FIELDS; i++) {
        least[i] = INT64_MAX;
        most[i] = INT64_MIN;
    }
    int64_t events = 0;
    for (int64_t i = 0; i < slots->count; i++) {
        const struct pl_slot *slot = &slots->at[i];
        if (slot->kind == PL_PIECE)
            pl_push(store, &pieces, i);
        if (!is_event(slot))
            continue;
        events++;
        look_at(slot, least, most);
        note(store, &of_comm, &comms, slot->comm, slot->peer);
        note(store, &of_site, &sites, slot->site, 0);
    }
    for (int64_t i = 0; i < comms.count; i++)
        pl_push(store, &peers, *pl_map_find(&of_comm, &comms.at[i]));
    const struct pl_list answers[] = {pieces, comms, peers, sites};
    for (int i = 0; i < 4; i++)
        pl_answer_list(answer, &answers[i]);
    const int64_t nothing = events ? FIELDS : 0;
    pl_answer_with(answer, least, nothing);
    pl_answer_with(answer, most, nothing);
    int64_t *count = pl_get(store, 1, sizeof *count);
    *count = events;
    pl_answer_with(answer, count, 1);
}

/* Pieces; communicators of events, the largest peer on each, and call sites; the least and the
 * largest of each field; how many events there are. */
PL_ENTRY struct pl_answer *pl_survey(const struct slots *slots)
{
    return pl_answered(survey, slots);
}

/* `comms` and `sites`: keys that the rank has for them; `common_comms`, `common_sites`: those of
 * all ranks; `peers`: by communicator the ranks of MPI_COMM_WORLD that a peer may be; `is_inter`:
 * where only those of messages are known. */
struct conversion {
    int64_t rank, zero, comms_count, sites_count;
    const int64_t *comms, *common_comms, *is_inter, *sites, *common_sites;
    struct pl_event *events;
    struct slots slots;
    struct pl_rows peers;
};

static bool is_message(const struct pl_slot *slot)
{
    return slot->kind == PL_SEND || slot->kind == PL_RECEIVE;
}

static void describe(struct pl_event *event, const struct pl_slot *slot)
{
    const bool is_known = !(slot->flags & (PL_UNKNOWN_CONTENT | PL_CANCELLED)) &&
                          (!(slot->flags & PL_INCOMPLETE) || slot->kind == PL_SEND);
    event->bytes = slot->bytes;
    event->signature = slot->signature;
    event->element = slot->element;
    event->operation = slot->operation;
    event->address = slot->address;
    event->extent = slot->extent;
    if (!is_known)
        return;
    event->content = slot->content;
    event->poly = slot->poly;
    memcpy(event->sketch, slot->sketch, sizeof event->sketch);
    if (slot->bytes <= PL_PAYLOAD)
        memcpy(event->payload, slot->payload, sizeof event->payload);
    else
        memcpy(event->extremes, slot->extremes, sizeof event->extremes);
}

static int64_t peer_of(const struct conversion *given, const struct pl_slot *slot, int64_t comm)
{
    if (slot->peer < 0 || (given->is_inter[comm] && !is_message(slot)))
        return -1;
    return given->peers.at[given->peers.first[comm] + slot->peer];
}

static struct pl_map places(struct pl_store *store, const int64_t *keys, int64_t count)
{
    struct pl_map found;
    bool is_new;
    pl_map_begin(store, &found, 1);
    for (int64_t i = 0; i < count; i++)
        pl_map_add(&found, keys + i, i, &is_new);
    return found;
}

static void convert(struct pl_answer *answer, const void *pointer)
{
    const struct conversion *given = pointer;
    const struct pl_map comms = places(answer->store, given->comms, given->comms_count);
    const struct pl_map sites = places(answer->store, given->sites, given->sites_count);
    int64_t *next = pl_get(answer->store, 2 * (size_t)given->comms_count, sizeof *next);
    struct pl_event *event = given->events;
    for (int64_t i = 0; i < given->slots.count; i++) {
        const struct pl_slot *slot = &given->slots.at[i];
        if (!is_event(slot))
            continue;
        const int64_t comm_key = slot->comm, site_key = slot->site;
        const int64_t comm = *pl_map_find(&comms, &comm_key);
        *event = (struct pl_event){
            .post = slot->post - given->zero,
            .start = slot->start - given->zero,
            .end = slot->end - given->zero,
            .rank = (int32_t)given->rank,
            .serial = event - given->events,
            .kind = slot->kind,
            .mode = slot->mode,
            .flags = slot->flags,
            .function = slot->function,
            .thread = slot->thread,
            .comm = (int32_t)given->common_comms[comm],
            .peer = (int32_t)peer_of(given, slot, comm),
            .tag = slot->tag,
            .sequence = is_message(slot) ? -1 : next[2 * comm + (slot->kind == PL_OUTPUT)]++,
            .blocks = slot->blocks,
            .site = (int32_t)given->common_sites[*pl_map_find(&sites, &site_key)]};
        describe(event, slot);
        event++;
    }
}

/* Writes all events of slots that were surveyed. */
PL_ENTRY struct pl_answer *pl_events(const struct conversion *given)
{
    return pl_answered(convert, given);
}

/* A field as int64_t: PUT(name) is a column more. */
#define PUT(field) columns[at++][i] = (int64_t)event->field

static void take_out(struct pl_answer *answer, const void *pointer)
{
    enum { COLUMNS = 8 };
    const struct pl_event_rows *events = pointer;
    int64_t *columns[COLUMNS];
    for (int column = 0; column < COLUMNS; column++) {
        columns[column] = pl_get(answer->store, (size_t)events->count, sizeof *columns[column]);
        pl_answer_with(answer, columns[column], events->count);
    }
    for (int64_t i = 0; i < events->count; i++) {
        const struct pl_event *event = &events->at[i];
        int at = 0;
        PUT(post), PUT(start), PUT(end), PUT(rank), PUT(kind), PUT(flags), PUT(bytes), PUT(address);
    }
}

/* The usual fields (recording.py), a column each. */
PL_ENTRY struct pl_answer *pl_event_columns(const struct pl_event_rows *events)
{
    return pl_answered(take_out, events);
}
