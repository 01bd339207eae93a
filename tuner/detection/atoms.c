/* Cuts items where messages cut them: each atom is handed on as a whole. */
#include "atoms.h"
#include "map.h"

#include <string.h>

struct cutting {
    struct pl_store *store;
    const struct pl_traffic *traffic;
    const int64_t *address; /* of items */
    struct pl_list columns[8], first, messages;
    struct pl_sets groups;
    struct pl_list cuts, having, comms, own, touched;
    int64_t *last; /* by rank: the message that brought it, -1: handed on since, -2: none */
    uint64_t *bits;
};

/* Parts of an item: the message, first byte, end. */
struct piece {
    int64_t message, low, high;
};

static void add_atom(struct cutting *cutting, int64_t item, int64_t low, int64_t high,
                     const struct pl_list *messages)
{
    const struct pl_traffic *traffic = cutting->traffic;
    const int64_t origin = traffic->source[messages->at[0]];
    cutting->touched.count = 0;
    for (int64_t i = 0; i < messages->count; i++) {
        const int64_t message = messages->at[i];
        int64_t *last = &cutting->last[traffic->target[message]];
        if (*last == -2) {
            *last = message;
            pl_push(cutting->store, &cutting->touched, traffic->target[message]);
        }
        if (cutting->last[traffic->source[message]] != -2)
            cutting->last[traffic->source[message]] = -1;
        pl_push(cutting->store, &cutting->messages, message);
    }
    memset(cutting->bits, 0, (size_t)cutting->groups.words * sizeof *cutting->bits);
    pl_put(cutting->bits, origin);
    int64_t keepers = 0, keeper = -1;
    for (int64_t i = 0; i < cutting->touched.count; i++) {
        const int64_t rank = cutting->touched.at[i];
        pl_put(cutting->bits, rank);
        if (rank != origin && cutting->last[rank] >= 0) {
            keepers++;
            keeper = rank;
        }
        cutting->last[rank] = -2;
    }
    const int64_t values[] = {item,
                              origin,
                              low,
                              high,
                              cutting->address[item] + low,
                              pl_set_add(&cutting->groups, cutting->bits),
                              keepers,
                              keepers == 1 ? keeper : -1};
    for (int i = 0; i < 8; i++)
        pl_push(cutting->store, &cutting->columns[i], values[i]);
    pl_push(cutting->store, &cutting->first, cutting->messages.count);
}

/* An atom for each communicator: what went along a row and then along columns are several
 * broadcasts, each by the rank that had it first there. */
static void add_by_comm(struct cutting *cutting, int64_t item, int64_t low, int64_t high)
{
    const int64_t *comm = cutting->traffic->comm;
    const struct pl_list *having = &cutting->having;
    bool one = true;
    for (int64_t i = 1; i < having->count; i++)
        one &= comm[having->at[i]] == comm[having->at[0]];
    if (one) {
        add_atom(cutting, item, low, high, having);
        return;
    }
    cutting->comms.count = 0;
    for (int64_t i = 0; i < having->count; i++)
        pl_push(cutting->store, &cutting->comms, comm[having->at[i]]);
    pl_unique(&cutting->comms);
    for (int64_t i = 0; i < cutting->comms.count; i++) {
        cutting->own.count = 0;
        for (int64_t j = 0; j < having->count; j++)
            if (comm[having->at[j]] == cutting->comms.at[i])
                pl_push(cutting->store, &cutting->own, having->at[j]);
        add_atom(cutting, item, low, high, &cutting->own);
    }
}

static void cut_item(struct cutting *cutting, int64_t item, const struct piece *pieces,
                     int64_t count)
{
    struct pl_list *cuts = &cutting->cuts;
    cuts->count = 0;
    for (int64_t i = 0; i < count; i++) {
        pl_push(cutting->store, cuts, pieces[i].low);
        pl_push(cutting->store, cuts, pieces[i].high);
    }
    pl_unique(cuts);
    for (int64_t i = 0; i + 1 < cuts->count; i++) {
        cutting->having.count = 0;
        for (int64_t j = 0; j < count; j++)
            if (pieces[j].low <= cuts->at[i] && cuts->at[i + 1] <= pieces[j].high)
                pl_push(cutting->store, &cutting->having, pieces[j].message);
        if (cutting->having.count)
            add_by_comm(cutting, item, cuts->at[i], cuts->at[i + 1]);
    }
}

struct atoms {
    const struct pl_traffic *traffic;
    const struct pl_parts *parts;
    int64_t items;
    const int64_t *address;
};

/* All pieces by item, in the order of messages; where those of each begin goes into `first`. */
static struct piece *by_item(struct pl_store *store, const struct atoms *given, int64_t *first)
{
    const struct pl_parts *parts = given->parts;
    for (int64_t message = 0; message < given->traffic->count; message++)
        for (int64_t i = 0; i < parts->count[message]; i++)
            first[parts->at[3 * (parts->first[message] + i)] + 1]++;
    for (int64_t item = 0; item < given->items; item++)
        first[item + 1] += first[item];
    struct piece *pieces = pl_get(store, (size_t)first[given->items], sizeof *pieces);
    int64_t *next = pl_get(store, (size_t)given->items, sizeof *next);
    memcpy(next, first, (size_t)given->items * sizeof *next);
    for (int64_t message = 0; message < given->traffic->count; message++) {
        for (int64_t i = 0; i < parts->count[message]; i++) {
            const int64_t *part = parts->at + 3 * (parts->first[message] + i);
            pieces[next[part[0]]++] = (struct piece){message, part[1], part[2]};
        }
    }
    return pieces;
}

static void answer_groups(struct pl_answer *answer, const struct pl_sets *groups, int64_t ranks)
{
    struct pl_list first = {0}, members = {0};
    pl_push(answer->store, &first, 0);
    for (int64_t group = 0; group < groups->count; group++) {
        for (int64_t rank = 0; rank < ranks; rank++)
            if (pl_has(pl_set(groups, group), rank))
                pl_push(answer->store, &members, rank);
        pl_push(answer->store, &first, members.count);
    }
    pl_answer_list(answer, &first);
    pl_answer_list(answer, &members);
}

static void cut_all(struct pl_answer *answer, const void *pointer)
{
    const struct atoms *given = pointer;
    struct pl_store *store = answer->store;
    const size_t ranks = (size_t)given->traffic->ranks;
    struct cutting *cutting = pl_get(store, 1, sizeof *cutting);
    cutting->store = store;
    cutting->traffic = given->traffic;
    cutting->address = given->address;
    pl_sets_begin(store, &cutting->groups, given->traffic->ranks);
    cutting->bits = pl_get(store, (size_t)cutting->groups.words, sizeof *cutting->bits);
    cutting->last = pl_get(store, ranks, sizeof *cutting->last);
    for (size_t rank = 0; rank < ranks; rank++)
        cutting->last[rank] = -2;
    int64_t *first = pl_get(store, (size_t)given->items + 1, sizeof *first);
    const struct piece *pieces = by_item(store, given, first);
    pl_push(store, &cutting->first, 0);
    for (int64_t item = 0; item < given->items; item++)
        cut_item(cutting, item, pieces + first[item], first[item + 1] - first[item]);
    for (int i = 0; i < 8; i++)
        pl_answer_list(answer, &cutting->columns[i]);
    pl_answer_list(answer, &cutting->first);
    pl_answer_list(answer, &cutting->messages);
    answer_groups(answer, &cutting->groups, given->traffic->ranks);
}

/* In the order of items: item, origin, low, high, address, group, keepers, keeper (of one),
 * messages by atom, ranks by group. `address`: of items. */
PL_ENTRY struct pl_answer *pl_cut(const struct pl_traffic *traffic, const struct pl_parts *parts,
                                  int64_t items, const int64_t *address)
{
    return pl_answered(cut_all, &(struct atoms){traffic, parts, items, address});
}
