/* Broadcasts by each rank of a group at once: allgathers (detect/provenance.py). */
#include "atoms.h"
#include "map.h"

/* Candidates in the order of their sends; `messages` of each, in order. */
struct allgathers {
    const struct pl_traffic *traffic;
    const struct pl_atoms *atoms;
    const struct pl_rows *spreads; /* atoms */
    const struct pl_rows *messages;
};

/* Spreads that wait for those of the other ranks. */
struct waiting {
    struct pl_list members;
};

struct gathering {
    struct pl_store *store;
    const struct allgathers *given;
    struct pl_list first, members, left, turned, rest;
    struct pl_map key, held; /* (communicator, group, call site); (waiting, origin) */
    struct waiting *waiting;
    int64_t waiting_count, waiting_room;
    int64_t *carried_by;          /* by message: the last one that counted it, and how many */
    int64_t *carriers, *earliest; /* the latter by rank */
    struct pl_map places;
    struct pl_list touched;
};

static int64_t origin_of(const struct gathering *gathering, int64_t spread)
{
    const struct allgathers *given = gathering->given;
    return given->atoms->origin[given->spreads->at[given->spreads->first[spread]]];
}

static int64_t first_of(const struct gathering *gathering, int64_t spread)
{
    const struct pl_rows *messages = gathering->given->messages;
    return messages->at[messages->first[spread]];
}

/* Whether ranks gave what they had of their own, rather than one after the other when they had got
 * the others': then at most one rank waits for all others, or each for one. */
static bool are_together(struct gathering *gathering, const struct pl_list *members, int64_t stamp)
{
    const struct pl_traffic *traffic = gathering->given->traffic;
    const struct pl_rows *messages = gathering->given->messages;
    for (int64_t i = 0; i < members->count; i++) {
        const int64_t spread = members->at[i];
        for (int64_t j = messages->first[spread]; j < messages->first[spread + 1]; j++) {
            const int64_t message = messages->at[j];
            if (gathering->carried_by[message] != stamp) {
                gathering->carried_by[message] = stamp;
                gathering->carriers[message] = 0;
            }
            gathering->carriers[message]++;
        }
    }
    int64_t waited = 0;
    for (int64_t i = 0; i < members->count; i++) {
        const int64_t other = members->at[i];
        gathering->touched.count = 0;
        for (int64_t j = messages->first[other]; j < messages->first[other + 1]; j++) {
            const int64_t message = messages->at[j], rank = traffic->target[message];
            int64_t *earliest = &gathering->earliest[rank];
            if (*earliest == INT64_MAX)
                pl_push(gathering->store, &gathering->touched, rank);
            if (traffic->received[message] < *earliest)
                *earliest = traffic->received[message];
        }
        for (int64_t j = 0; j < members->count; j++) {
            const int64_t member = members->at[j], first = first_of(gathering, member);
            const bool bundled = gathering->carriers[first] > 1;
            const int64_t origin = origin_of(gathering, member);
            waited +=
                member != other && !bundled && gathering->earliest[origin] < traffic->sent[first];
        }
        for (int64_t j = 0; j < gathering->touched.count; j++)
            gathering->earliest[gathering->touched.at[j]] = INT64_MAX;
    }
    return waited < members->count;
}

/* Whether an atom lies at all its receivers where nothing else of the allgather lies, or was sent
 * on from there together with others: then it was copied. */
static bool is_kept(struct gathering *gathering, int64_t atom)
{
    const struct pl_traffic *traffic = gathering->given->traffic;
    const struct pl_atoms *atoms = gathering->given->atoms;
    const int64_t begin = atoms->messages.first[atom], end = atoms->messages.first[atom + 1];
    const int64_t bytes = atoms->high[atom] - atoms->low[atom];
    bool kept = true;
    gathering->touched.count = 0;
    for (int64_t i = end; i-- > begin;) { /* the last one to a rank counts */
        const int64_t message = atoms->messages.at[i];
        const bool alone = traffic->bytes[message] == bytes;
        const int64_t rank = alone ? traffic->target[message] : traffic->source[message];
        if (gathering->earliest[rank] != INT64_MAX)
            continue;
        gathering->earliest[rank] = 0;
        pl_push(gathering->store, &gathering->touched, rank);
        if (!alone)
            continue;
        const int64_t place[] = {rank, traffic->to_address[message]};
        bool is_new = true;
        if (rank != atoms->origin[atom])
            pl_map_add(&gathering->places, place, 0, &is_new);
        kept &= is_new;
    }
    for (int64_t i = 0; i < gathering->touched.count; i++)
        gathering->earliest[gathering->touched.at[i]] = INT64_MAX;
    return kept;
}

/* Whether what ranks received lies side by side in the end, and not in one place after the other.
 */
static bool are_kept(struct gathering *gathering, const struct pl_list *members)
{
    const struct pl_rows *spreads = gathering->given->spreads;
    pl_map_begin(gathering->store, &gathering->places, 2);
    bool kept = true;
    for (int64_t i = 0; i < members->count && kept; i++)
        for (int64_t j = spreads->first[members->at[i]];
             j < spreads->first[members->at[i] + 1] && kept; j++)
            kept = is_kept(gathering, spreads->at[j]);
    pl_map_end(&gathering->places);
    return kept;
}

static void move(struct gathering *gathering, struct pl_list *from, struct pl_list *to)
{
    for (int64_t i = 0; i < from->count; i++)
        pl_push(gathering->store, to, from->at[i]);
    from->count = 0;
}

static struct waiting *waiting_for(struct gathering *gathering, const int64_t *key, int64_t *number)
{
    bool is_new;
    *number = *pl_map_add(&gathering->key, key, gathering->waiting_count, &is_new);
    if (is_new) {
        if (gathering->waiting_count == gathering->waiting_room) {
            gathering->waiting_room = gathering->waiting_room ? 2 * gathering->waiting_room : 16;
            gathering->waiting =
                pl_grown(gathering->store, gathering->waiting,
                         (size_t)gathering->waiting_room * sizeof *gathering->waiting);
        }
        gathering->waiting[gathering->waiting_count++] = (struct waiting){{0}};
    }
    return &gathering->waiting[*number];
}

/* A spread more: with it all ranks of its group may be there. `turn` is larger each time. */
static void add_spread(struct gathering *gathering, int64_t spread, bool with_site, int64_t turn)
{
    const struct allgathers *given = gathering->given;
    const struct pl_atoms *atoms = given->atoms;
    const int64_t atom = given->spreads->at[given->spreads->first[spread]];
    const int64_t first = first_of(gathering, spread), group = atoms->group[atom];
    const int64_t key[] = {given->traffic->comm[atoms->messages.at[atoms->messages.first[atom]]],
                           group, with_site ? given->traffic->send_site[first] : 0};
    int64_t number;
    struct pl_list *mine = &waiting_for(gathering, key, &number)->members;
    const int64_t holder[] = {number, atoms->origin[atom]};
    bool is_new;
    int64_t *since = pl_map_add(&gathering->held, holder, -1, &is_new);
    if (mine->count && *since >= 0) /* it is there: of this time, or of one that has ended */
        for (int64_t i = 0; i < mine->count; i++)
            if (mine->at[i] == *since) {
                move(gathering, mine, &gathering->rest);
                break;
            }
    *since = spread;
    pl_push(gathering->store, mine, spread);
    if (mine->count < atoms->groups.first[group + 1] - atoms->groups.first[group])
        return;
    if (!are_together(gathering, mine, turn)) {
        move(gathering, mine, &gathering->rest);
    } else if (!are_kept(gathering, mine)) {
        move(gathering, mine, &gathering->turned);
    } else {
        move(gathering, mine, &gathering->members);
        pl_push(gathering->store, &gathering->first, gathering->members.count);
    }
}

static void gather_all(struct pl_answer *answer, const void *pointer)
{
    const struct allgathers *given = pointer;
    struct pl_store *store = answer->store;
    struct gathering *gathering = pl_get(store, 1, sizeof *gathering);
    gathering->store = store;
    gathering->given = given;
    const size_t messages = (size_t)given->traffic->count, ranks = (size_t)given->traffic->ranks;
    gathering->carried_by = pl_get(store, messages, sizeof *gathering->carried_by);
    gathering->carriers = pl_get(store, messages, sizeof *gathering->carriers);
    gathering->earliest = pl_get(store, ranks, sizeof *gathering->earliest);
    for (size_t rank = 0; rank < ranks; rank++)
        gathering->earliest[rank] = INT64_MAX;
    pl_push(store, &gathering->first, 0);
    for (int64_t i = 0; i < given->spreads->count; i++)
        pl_push(store, &gathering->left, i);
    int64_t turn = 1;
    for (int with_site = 1; with_site >= 0; with_site--) {
        pl_map_begin(store, &gathering->key, 3);
        pl_map_begin(store, &gathering->held, 2);
        gathering->waiting_count = gathering->rest.count = 0;
        for (int64_t i = 0; i < gathering->left.count; i++)
            add_spread(gathering, gathering->left.at[i], with_site != 0, turn++);
        for (int64_t i = 0; i < gathering->waiting_count; i++)
            move(gathering, &gathering->waiting[i].members, &gathering->rest);
        gathering->left.count = 0;
        move(gathering, &gathering->rest, &gathering->left);
        pl_sort(gathering->left.at, gathering->left.count);
    }
    pl_answer_list(answer, &gathering->first);
    pl_answer_list(answer, &gathering->members);
    pl_answer_list(answer, &gathering->left);
    pl_answer_list(answer, &gathering->turned);
}

/* Spreads by allgather; those that belong to none; those of a rotation, whose receivers did not
 * keep what they had. */
PL_ENTRY struct pl_answer *pl_allgathers(const struct pl_traffic *traffic,
                                         const struct pl_atoms *atoms,
                                         const struct pl_rows *spreads,
                                         const struct pl_rows *messages)
{
    return pl_answered(gather_all, &(struct allgathers){traffic, atoms, spreads, messages});
}
