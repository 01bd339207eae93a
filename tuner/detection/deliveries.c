/* Atoms that one rank keeps: all that one rank has for another one, in one go (detect/personal.py).
 */
#include "atoms.h"
#include "map.h"

struct deliveries {
    const struct pl_traffic *traffic;
    const struct pl_parts *parts;
    const struct pl_atoms *atoms;
    const int64_t *which; /* atoms that one rank keeps, in the order of sends */
    int64_t count;
};

/* Atoms of a delivery are linked: `last`, and the one before each in `before`. */
struct delivery {
    int64_t from, to, bytes, last, from_gaps, to_gaps;
};

struct delivering {
    struct pl_store *store;
    const struct deliveries *given;
    struct delivery *made;
    int64_t count;
    int64_t *before; /* by place in `which` */
    struct pl_map open;
};

static void deliver(struct delivering *delivering, int64_t place)
{
    const struct pl_traffic *traffic = delivering->given->traffic;
    const struct pl_atoms *atoms = delivering->given->atoms;
    const int64_t atom = delivering->given->which[place], keeper = atoms->keeper[atom];
    const int64_t message = pl_last_to(traffic, atoms, atom, keeper);
    const int64_t there = pl_arrival(traffic, delivering->given->parts, atoms, atom, message);
    const int64_t first = atoms->messages.at[atoms->messages.first[atom]];
    const int64_t bytes = atoms->high[atom] - atoms->low[atom];
    const int64_t key[] = {atoms->origin[atom], keeper, traffic->send_site[first]};
    bool is_new;
    int64_t *open = pl_map_add(&delivering->open, key, delivering->count, &is_new);
    struct delivery *before = &delivering->made[*open];
    if (!is_new && before->to + before->bytes == there &&
        before->from + before->bytes == atoms->address[atom]) {
        before->bytes += bytes;
        delivering->before[place] = before->last;
        before->last = place;
        return;
    }
    *open = delivering->count;
    delivering->before[place] = -1;
    delivering->made[delivering->count++] =
        (struct delivery){atoms->address[atom],
                          there,
                          bytes,
                          place,
                          traffic->width[message] * traffic->from_gaps[first],
                          traffic->width[message] * traffic->to_gaps[message]};
}

/* Messages of a delivery, each once, behind the others. */
static void add_messages(struct delivering *delivering, const struct delivery *delivery,
                         struct pl_list *own, struct pl_list *messages)
{
    const struct pl_atoms *atoms = delivering->given->atoms;
    own->count = 0;
    for (int64_t place = delivery->last; place >= 0; place = delivering->before[place]) {
        const int64_t atom = delivering->given->which[place];
        for (int64_t i = atoms->messages.first[atom]; i < atoms->messages.first[atom + 1]; i++)
            pl_push(delivering->store, own, atoms->messages.at[i]);
    }
    pl_unique(own);
    for (int64_t i = 0; i < own->count; i++)
        pl_push(delivering->store, messages, own->at[i]);
}

static void deliver_all(struct pl_answer *answer, const void *pointer)
{
    const struct deliveries *given = pointer;
    struct pl_store *store = answer->store;
    const size_t count = (size_t)given->count;
    struct delivering *delivering = pl_get(store, 1, sizeof *delivering);
    delivering->store = store;
    delivering->given = given;
    delivering->made = pl_get(store, count + 1, sizeof *delivering->made);
    delivering->before = pl_get(store, count, sizeof *delivering->before);
    pl_map_begin(store, &delivering->open, 3);
    for (int64_t place = 0; place < given->count; place++)
        deliver(delivering, place);
    struct pl_list columns[6] = {{0}}, first = {0}, messages = {0}, own = {0};
    pl_push(store, &first, 0);
    for (int64_t i = 0; i < delivering->count; i++) {
        const struct delivery *delivery = &delivering->made[i];
        int64_t atom = delivery->last;
        while (delivering->before[atom] >= 0)
            atom = delivering->before[atom];
        const int64_t values[] = {given->which[atom], delivery->from,      delivery->to,
                                  delivery->bytes,    delivery->from_gaps, delivery->to_gaps};
        for (int j = 0; j < 6; j++)
            pl_push(store, &columns[j], values[j]);
        add_messages(delivering, delivery, &own, &messages);
        pl_push(store, &first, messages.count);
    }
    for (int j = 0; j < 6; j++)
        pl_answer_list(answer, &columns[j]);
    pl_answer_list(answer, &first);
    pl_answer_list(answer, &messages);
}

/* The first atom of each, where it lies at both ranks, bytes, bytes of an element where there are
 * gaps on either side, and messages by delivery. */
PL_ENTRY struct pl_answer *pl_deliveries(const struct pl_traffic *traffic,
                                         const struct pl_parts *parts, const struct pl_atoms *atoms,
                                         const int64_t *which, int64_t count)
{
    return pl_answered(deliver_all, &(struct deliveries){traffic, parts, atoms, which, count});
}
