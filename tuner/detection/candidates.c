/* Messages that have something in common, and the groups of ranks that they connect, of which
 * something may be found (detect/traffic.py): all others are left out here. */
#include "map.h"
#include "numbers.h"
#include "phases.h"

/* What messages have in common besides their communicator, as bits. */
enum { PL_KIND = 1, PL_SITE = 2, PL_TAG = 4, PL_BYTES = 8 };

/* What is looked for: detect/traffic.py has the same. */
enum pl_search { PL_BARRIERS, PL_SURE_REDUCTIONS, PL_REDUCTIONS, PL_BRUCK };

/* Of three ranks Bruck's algorithm sends each block straight to where it belongs. */
enum { SMALLEST_GROUP = 3, SMALLEST_BRUCK = 4 };

/* `comms`: ranks by communicator; `seen`: hashes of classes that were looked at before. */
struct candidates {
    const struct pl_traffic *traffic;
    const int64_t *messages;
    int64_t count, fields, search;
    const struct pl_rows *comms;
    const int64_t *seen;
    int64_t seen_count;
};

struct looking {
    struct pl_store *store;
    const struct candidates *given;
    int64_t *top;            /* by rank: one that it is connected with, -1: none */
    int64_t *group, *size;   /* by rank: the number of its group, and by group its ranks */
    int64_t *sends, *target; /* by rank: how often it sends, and to whom */
    int64_t *rank_place;     /* by rank: its place in its group */
    int64_t *place;          /* by message: where in its group's messages it is */
    struct pl_list own, ranks, points, received;                           /* of a group */
    struct pl_list seen, comm, group_first, groups, member_first, members; /* the answer */
};

static const int64_t *column_of(const struct pl_traffic *traffic, int64_t field)
{
    return field == PL_KIND   ? traffic->kind
           : field == PL_SITE ? traffic->send_site
           : field == PL_TAG  ? traffic->tag
                              : traffic->bytes;
}

/* By message the number of its class; how many classes. */
static int64_t number_all(struct pl_store *store, const struct pl_traffic *traffic,
                          const int64_t *messages, int64_t count, int64_t fields, int64_t *numbers)
{
    int64_t *right = pl_get(store, (size_t)count, sizeof *right);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = traffic->comm[messages[i]];
    int64_t classes = pl_number(store, count, numbers, right, numbers);
    for (int64_t field = PL_KIND; field <= PL_BYTES; field *= 2) {
        if (!(fields & field))
            continue;
        const int64_t *column = column_of(traffic, field);
        for (int64_t i = 0; i < count; i++)
            right[i] = column[messages[i]];
        classes = pl_number(store, count, numbers, right, numbers);
    }
    pl_give_back(right);
    return classes;
}

struct classes {
    const struct pl_traffic *traffic;
    const int64_t *messages;
    int64_t count, fields;
};

static void find_classes(struct pl_answer *answer, const void *pointer)
{
    const struct classes *given = pointer;
    int64_t *numbers = pl_get(answer->store, (size_t)given->count, sizeof *numbers);
    const int64_t classes = number_all(answer->store, given->traffic, given->messages, given->count,
                                       given->fields, numbers);
    int64_t *first, *at;
    pl_by_row(answer->store, given->count, numbers, classes, &first, &at);
    pl_answer_with(answer, first, classes + 1);
    pl_answer_with(answer, at, given->count);
}

/* Indices of messages that have communicator and `fields` in common, by class. */
PL_ENTRY struct pl_answer *pl_message_classes(const struct pl_traffic *traffic,
                                              const int64_t *messages, int64_t count,
                                              int64_t fields)
{
    return pl_answered(find_classes, &(struct classes){traffic, messages, count, fields});
}

/* Of a set of messages: sets are equal where these are. */
static int64_t hash_of(const int64_t *messages, int64_t count)
{
    uint64_t sum = (uint64_t)count;
    for (int64_t i = 0; i < count; i++) {
        uint64_t mixed = ((uint64_t)messages[i] + 1) * UINT64_C(0x9E3779B97F4A7C15);
        mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        sum += mixed ^ (mixed >> 27);
    }
    return (int64_t)sum;
}

static int64_t top_of(const struct looking *looking, int64_t rank)
{
    while (looking->top[rank] != rank)
        rank = looking->top[rank] = looking->top[looking->top[rank]];
    return rank;
}

static void connect(struct looking *looking, const int64_t *messages, int64_t count)
{
    const struct pl_traffic *traffic = looking->given->traffic;
    for (int64_t rank = 0; rank < traffic->ranks; rank++)
        looking->top[rank] = -1;
    for (int64_t i = 0; i < count; i++) {
        const int64_t source = traffic->source[messages[i]], target = traffic->target[messages[i]];
        if (looking->top[source] < 0)
            looking->top[source] = source;
        if (looking->top[target] < 0)
            looking->top[target] = target;
        const int64_t left = top_of(looking, source), right = top_of(looking, target);
        looking->top[left] = right;
    }
}

/* How many groups ranks are connected to, by their smallest ranks; 0: these are neither all ranks
 * of the communicator nor rows of them, equally large. */
static int64_t number_groups(struct looking *looking, int64_t comm)
{
    const struct pl_rows *comms = looking->given->comms;
    const int64_t ranks = looking->given->traffic->ranks;
    int64_t groups = 0, connected = 0;
    for (int64_t rank = 0; rank < ranks; rank++)
        looking->group[rank] = -1;
    for (int64_t rank = 0; rank < ranks; rank++) {
        if (looking->top[rank] < 0)
            continue;
        const int64_t top = top_of(looking, rank);
        if (looking->group[top] < 0) {
            looking->group[top] = groups;
            looking->size[groups++] = 0;
        }
        looking->group[rank] = looking->group[top];
        looking->size[looking->group[top]]++;
        connected++;
    }
    for (int64_t i = comms->first[comm]; i < comms->first[comm + 1]; i++)
        if (looking->top[comms->at[i]] < 0)
            return 0;
    if (connected != comms->first[comm + 1] - comms->first[comm])
        return 0;
    for (int64_t i = 0; i < groups; i++)
        if (looking->size[i] != *looking->size || looking->size[i] < SMALLEST_GROUP)
            return 0;
    return groups;
}

static bool is_one(const int64_t *column, const int64_t *messages, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (column[messages[i]] != column[*messages])
            return false;
    return true;
}

/* Whether a group's messages may go round so: of as many as are looked at, and one more. */
static bool may_go_round(struct looking *looking, enum pl_way way)
{
    const struct pl_traffic *traffic = looking->given->traffic;
    const int64_t *own = looking->own.at, size = looking->ranks.count;
    const int64_t first = pl_looked_at_first(looking->own.count, size, way);
    const int64_t count = first < looking->own.count ? first + 1 : first;
    struct pl_list *received = &looking->received, *points = &looking->points;
    received->count = points->count = 0;
    for (int64_t i = 0; i < count; i++) {
        looking->place[own[i]] = i;
        pl_push(looking->store, received, traffic->received[own[i]]);
    }
    pl_sort(received->at, count);
    int64_t sent = 0;
    for (int64_t i = 0; i < count; i++) {
        for (; sent < count && traffic->sent[own[sent]] < received->at[i]; sent++)
            pl_push(looking->store, points, sent);
        const int64_t message = traffic->points[received->at[i]] / 2;
        pl_push(looking->store, points, count + looking->place[message]);
    }
    for (; sent < count; sent++)
        pl_push(looking->store, points, sent);
    const struct pl_class class = {traffic, own, points->at, count, looking->ranks.at, size};
    return pl_begins_well(looking->store, &class, way);
}

/* Whether each rank sends to one other, in turns of once less than there are ranks. */
static bool may_be_a_ring(struct looking *looking)
{
    const struct pl_traffic *traffic = looking->given->traffic;
    const struct pl_list *own = &looking->own;
    const int64_t size = looking->ranks.count;
    if (own->count % (size * (size - 1)))
        return false;
    for (int64_t i = 0; i < size; i++)
        looking->target[looking->ranks.at[i]] = -1;
    for (int64_t i = 0; i < own->count; i++) {
        int64_t *target = &looking->target[traffic->source[own->at[i]]];
        if (*target >= 0 && *target != traffic->target[own->at[i]])
            return false;
        *target = traffic->target[own->at[i]];
    }
    return true;
}

static bool may_be_reductions(struct looking *looking, bool surely)
{
    const struct pl_traffic *traffic = looking->given->traffic;
    const struct pl_list *own = &looking->own;
    const bool alike = is_one(traffic->kind, own->at, own->count);
    const bool says_more = !is_one(traffic->content, own->at, own->count);
    if (alike && !surely && may_be_a_ring(looking))
        return true;
    if (alike ? !says_more : surely)
        return false;
    return alike ? may_go_round(looking, PL_TREE) || may_go_round(looking, PL_WHOLE)
                 : may_go_round(looking, PL_HALVING);
}

/* Whether each rank sends to the one 1, 2, 4 … further, again and again; or down. */
static bool may_be_bruck(struct looking *looking)
{
    const struct pl_traffic *traffic = looking->given->traffic;
    const int64_t size = looking->ranks.count;
    int64_t steps = 0;
    while ((INT64_C(1) << steps) < size)
        steps++;
    if (size < SMALLEST_BRUCK || looking->own.count % (size * steps))
        return false;
    for (int64_t i = 0; i < size; i++) {
        looking->rank_place[looking->ranks.at[i]] = i;
        looking->sends[looking->ranks.at[i]] = 0;
    }
    bool up = true, down = true;
    for (int64_t i = 0; i < looking->own.count && (up || down); i++) {
        const int64_t message = looking->own.at[i], source = traffic->source[message];
        const int64_t hop = INT64_C(1) << (looking->sends[source]++ % steps);
        const int64_t further =
            looking->rank_place[traffic->target[message]] - looking->rank_place[source] + size;
        up &= further % size == hop;
        down &= further % size == size - hop;
    }
    return up || down;
}

static bool may_be_found(struct looking *looking)
{
    switch ((enum pl_search)looking->given->search) {
    case PL_BARRIERS:
        return may_go_round(looking, PL_BARRIER);
    case PL_SURE_REDUCTIONS:
        return may_be_reductions(looking, true);
    case PL_REDUCTIONS:
        return may_be_reductions(looking, false);
    case PL_BRUCK:
        break;
    }
    return may_be_bruck(looking);
}

/* Whether all ranks that send do so equally often: not so at the ends of a line. */
static bool send_alike(struct looking *looking, const int64_t *messages, int64_t count)
{
    const struct pl_traffic *traffic = looking->given->traffic;
    for (int64_t rank = 0; rank < traffic->ranks; rank++)
        looking->sends[rank] = 0;
    for (int64_t i = 0; i < count; i++)
        looking->sends[traffic->source[messages[i]]]++;
    int64_t most = 0;
    for (int64_t rank = 0; rank < traffic->ranks; rank++)
        most = looking->sends[rank] > most ? looking->sends[rank] : most;
    for (int64_t rank = 0; rank < traffic->ranks; rank++)
        if (looking->sends[rank] && looking->sends[rank] < most)
            return false;
    return true;
}

static void look_at(struct looking *looking, const int64_t *messages, int64_t count)
{
    const struct pl_traffic *traffic = looking->given->traffic;
    const int64_t comm = traffic->comm[*messages], search = looking->given->search;
    if (search == PL_BARRIERS && !is_one(traffic->content, messages, count))
        return;
    if (search == PL_BRUCK && !send_alike(looking, messages, count))
        return;
    connect(looking, messages, count);
    const int64_t groups = number_groups(looking, comm);
    for (int64_t group = 0; group < groups; group++) {
        looking->own.count = looking->ranks.count = 0;
        for (int64_t i = 0; i < count; i++)
            if (looking->group[traffic->source[messages[i]]] == group)
                pl_push(looking->store, &looking->own, messages[i]);
        for (int64_t rank = 0; rank < traffic->ranks; rank++)
            if (looking->group[rank] == group)
                pl_push(looking->store, &looking->ranks, rank);
        if (!may_be_found(looking))
            continue;
        pl_push(looking->store, &looking->comm, comm);
        for (int64_t i = 0; i < looking->ranks.count; i++)
            pl_push(looking->store, &looking->groups, looking->ranks.at[i]);
        for (int64_t i = 0; i < looking->own.count; i++)
            pl_push(looking->store, &looking->members, looking->own.at[i]);
        pl_push(looking->store, &looking->group_first, looking->groups.count);
        pl_push(looking->store, &looking->member_first, looking->members.count);
    }
}

static void find_candidates(struct pl_answer *answer, const void *pointer)
{
    const struct candidates *given = pointer;
    struct pl_store *store = answer->store;
    const size_t ranks = (size_t)given->traffic->ranks;
    struct looking *looking = pl_get(store, 1, sizeof *looking);
    looking->store = store;
    looking->given = given;
    int64_t **by_rank[] = {&looking->top,   &looking->group,  &looking->size,
                           &looking->sends, &looking->target, &looking->rank_place};
    for (size_t i = 0; i < sizeof by_rank / sizeof *by_rank; i++)
        *by_rank[i] = pl_get(store, ranks, sizeof **by_rank[i]);
    looking->place = pl_get(store, (size_t)given->traffic->count, sizeof *looking->place);
    int64_t *numbers = pl_get(store, (size_t)given->count, sizeof *numbers), *first, *at;
    const int64_t classes =
        number_all(store, given->traffic, given->messages, given->count, given->fields, numbers);
    pl_by_row(store, given->count, numbers, classes, &first, &at);
    for (int64_t i = 0; i < given->count; i++)
        at[i] = given->messages[at[i]];
    struct pl_map known;
    pl_map_begin(store, &known, 1);
    bool is_new;
    for (int64_t i = 0; i < given->seen_count; i++)
        pl_map_add(&known, &given->seen[i], 0, &is_new);
    pl_push(store, &looking->group_first, 0);
    pl_push(store, &looking->member_first, 0);
    for (int64_t i = 0; i < classes; i++) {
        const int64_t hash = hash_of(at + first[i], first[i + 1] - first[i]);
        pl_map_add(&known, &hash, 0, &is_new);
        if (!is_new)
            continue;
        pl_push(store, &looking->seen, hash);
        look_at(looking, at + first[i], first[i + 1] - first[i]);
    }
    const struct pl_list *answers[] = {&looking->seen,         &looking->comm,
                                       &looking->group_first,  &looking->groups,
                                       &looking->member_first, &looking->members};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        pl_answer_list(answer, answers[i]);
}

/* Hashes of classes that were not looked at before; communicators of candidates, their groups'
 * ranks and their messages, as rows. */
PL_ENTRY struct pl_answer *pl_candidates(const struct pl_traffic *traffic, const int64_t *messages,
                                         int64_t count, int64_t fields, int64_t search,
                                         const struct pl_rows *comms, const int64_t *seen,
                                         int64_t seen_count)
{
    return pl_answered(find_candidates, &(struct candidates){traffic, messages, count, fields,
                                                             search, comms, seen, seen_count});
}
