/* Whose contribution is known where, message by message, and when it is everybody's
 * (detect/knowledge.py). Sets of ranks are by place in the group. */
#include "map.h"
#include "traffic.h"

#include <string.h>

/* Messages of a class, `count`, and their sends (place in `messages`) and receives (`count` more),
 * in causal order. */
struct phases {
    const struct pl_traffic *traffic;
    const int64_t *messages, *points;
    int64_t count;
    const int64_t *group;
    int64_t size, rooted;
};

/* One time that it went round. `complete`: places of ranks that know everybody's contribution are
 * bits; `overlaps`: somebody was told of one contribution twice. */
struct phase {
    int64_t messages, overlaps;
};

struct knowing {
    struct pl_store *store;
    const struct phases *given;
    int64_t words;
    int64_t *place; /* by rank: its place in the group */
    int64_t *now;   /* by place: its phase */
    uint64_t *known, *full;
    struct {
        int64_t phase, set;
    } * stamps; /* by place in the class: of its send, the phase from 1 on; 0: none */
    struct phase *phases;
    uint64_t *complete;
    int64_t phases_count, phases_room;
    struct pl_map types; /* phase, source and target, call site */
    struct pl_sets sets;
    struct pl_list message, phase, set; /* the answer, in the order of receives */
};

static uint64_t *known_by(const struct knowing *knowing, int64_t place)
{
    return knowing->known + place * knowing->words;
}

static bool is_full(const struct knowing *knowing, const uint64_t *bits)
{
    return memcmp(bits, knowing->full, (size_t)knowing->words * sizeof *bits) == 0;
}

static void forget(struct knowing *knowing, int64_t place)
{
    memset(known_by(knowing, place), 0, (size_t)knowing->words * sizeof(uint64_t));
    pl_put(known_by(knowing, place), place);
}

static void next_phase(struct knowing *knowing, int64_t place)
{
    knowing->now[place]++;
    forget(knowing, place);
}

static void require(struct knowing *knowing, int64_t number)
{
    const size_t words = (size_t)knowing->words;
    while (knowing->phases_count <= number) {
        if (knowing->phases_count == knowing->phases_room) {
            const int64_t room = knowing->phases_room ? 2 * knowing->phases_room : 16;
            knowing->phases =
                pl_grown(knowing->store, knowing->phases, (size_t)room * sizeof *knowing->phases);
            knowing->complete = pl_grown(knowing->store, knowing->complete,
                                         (size_t)room * words * sizeof *knowing->complete);
            knowing->phases_room = room;
        }
        knowing->phases[knowing->phases_count] = (struct phase){0, 0};
        memset(knowing->complete + (size_t)knowing->phases_count * words, 0,
               words * sizeof *knowing->complete);
        knowing->phases_count++;
    }
}

static void send(struct knowing *knowing, int64_t at)
{
    const int64_t message = knowing->given->messages[at];
    const int64_t place = knowing->place[knowing->given->traffic->source[message]];
    if (knowing->given->rooted && is_full(knowing, known_by(knowing, place)))
        next_phase(knowing, place);
    knowing->stamps[at].phase = knowing->now[place] + 1;
    knowing->stamps[at].set = pl_set_add(&knowing->sets, known_by(knowing, place));
    if (knowing->given->rooted)
        next_phase(knowing, place);
}

/* Whether a phase has had no message of these ranks from this call site. */
static bool is_first(struct knowing *knowing, int64_t number, int64_t message, bool add)
{
    const struct pl_traffic *traffic = knowing->given->traffic;
    const int64_t ranks = traffic->source[message] * traffic->ranks + traffic->target[message];
    const int64_t key[] = {number, ranks, traffic->send_site[message]};
    if (!add)
        return !pl_map_find(&knowing->types, key);
    bool is_new;
    pl_map_add(&knowing->types, key, 0, &is_new);
    return is_new;
}

static void add(struct knowing *knowing, int64_t number, int64_t message, int64_t set)
{
    require(knowing, number);
    knowing->phases[number].messages++;
    pl_push(knowing->store, &knowing->message, message);
    pl_push(knowing->store, &knowing->phase, number);
    pl_push(knowing->store, &knowing->set, set);
    if (!knowing->given->rooted)
        is_first(knowing, number, message, true);
}

/* A rank of a rooted phase is told something: as long as it has not sent, of the phase that it is
 * in, or of a later one where it has been told nothing yet. */
static void wait(struct knowing *knowing, int64_t place, int64_t number)
{
    if (number < knowing->now[place]) {
        require(knowing, number);
        knowing->phases[number].overlaps = 1;
    } else if (number > knowing->now[place]) {
        uint64_t *known = known_by(knowing, place);
        int64_t count = 0;
        for (int64_t word = 0; word < knowing->words; word++)
            count += __builtin_popcountll(known[word]);
        if (count != 1 || !pl_has(known, place)) {
            require(knowing, knowing->now[place]);
            knowing->phases[knowing->now[place]].overlaps = 1;
        }
        knowing->now[place] = number;
        forget(knowing, place);
    }
}

/* What is told of, where sender and receiver are in different phases. */
static int64_t told_now(struct knowing *knowing, int64_t message, int64_t place, int64_t number,
                        int64_t set)
{
    const int64_t now = knowing->now[place];
    if (number == now)
        return set;
    if (number > now)
        return pl_set_add(&knowing->sets, knowing->full);
    uint64_t *bits = pl_get(knowing->store, (size_t)knowing->words, sizeof *bits);
    /* Its sender may be done with the last phase, and have come to this one. */
    if (number == now - 1 && is_full(knowing, pl_set(&knowing->sets, set)))
        pl_put(bits, knowing->place[knowing->given->traffic->source[message]]);
    const int64_t told = pl_set_add(&knowing->sets, bits);
    pl_give_back(bits);
    return told;
}

/* A rank hears of what is in a set. */
static void learn(struct knowing *knowing, int64_t place, int64_t number, int64_t set)
{
    uint64_t *known = known_by(knowing, place);
    const uint64_t *told = pl_set(&knowing->sets, set);
    bool some = false, all = true;
    for (int64_t word = 0; word < knowing->words; word++) {
        some |= (known[word] & told[word]) != 0;
        all &= (known[word] & ~told[word]) == 0;
    }
    knowing->phases[number].overlaps |= is_full(knowing, told) ? some && !all : some;
    for (int64_t word = 0; word < knowing->words; word++)
        known[word] |= told[word];
    if (is_full(knowing, known))
        pl_put(knowing->complete + number * knowing->words, place);
}

static void receive(struct knowing *knowing, int64_t at)
{
    const int64_t message = knowing->given->messages[at];
    const int64_t place = knowing->place[knowing->given->traffic->target[message]];
    int64_t number = knowing->stamps[at].phase - 1, set = knowing->stamps[at].set;
    if (number < 0)
        return; /* clocks of threads: received before it was sent */
    if (is_full(knowing, known_by(knowing, place))) {
        /* It tells a rank what it knows already, and is no repetition: the last one of a ring that
         * goes round twice. */
        if (!knowing->given->rooted && number == knowing->now[place] &&
            is_full(knowing, pl_set(&knowing->sets, set)) &&
            is_first(knowing, number, message, false)) {
            add(knowing, number, message, set);
            return;
        }
        next_phase(knowing, place);
    }
    if (knowing->given->rooted) {
        wait(knowing, place, number);
    } else {
        set = told_now(knowing, message, place, number, set);
        number = knowing->now[place];
    }
    add(knowing, number, message, set);
    learn(knowing, place, number, set);
}

static void begin(struct knowing *knowing, struct pl_store *store, const struct phases *given)
{
    const size_t size = (size_t)given->size;
    knowing->store = store;
    knowing->given = given;
    knowing->words = pl_words(given->size);
    knowing->place = pl_get(store, (size_t)given->traffic->ranks, sizeof *knowing->place);
    knowing->now = pl_get(store, size, sizeof *knowing->now);
    knowing->known = pl_get(store, size * (size_t)knowing->words, sizeof *knowing->known);
    knowing->full = pl_get(store, (size_t)knowing->words, sizeof *knowing->full);
    pl_map_begin(store, &knowing->types, 3);
    knowing->stamps = pl_get(store, (size_t)given->count, sizeof *knowing->stamps);
    pl_sets_begin(store, &knowing->sets, given->size);
    for (int64_t place = 0; place < given->size; place++) {
        knowing->place[given->group[place]] = place;
        pl_put(knowing->full, place);
        forget(knowing, place);
    }
}

/* By phase: messages, overlaps, how many ranks know everything, and the last of them. */
static void answer_phases(struct pl_answer *answer, const struct knowing *knowing)
{
    struct pl_list columns[4] = {{0}};
    for (int64_t i = 0; i < knowing->phases_count; i++) {
        int64_t complete = 0, last = -1;
        for (int64_t place = 0; place < knowing->given->size; place++)
            if (pl_has(knowing->complete + i * knowing->words, place)) {
                complete++;
                last = place;
            }
        const int64_t values[] = {knowing->phases[i].messages, knowing->phases[i].overlaps,
                                  complete, last};
        for (int j = 0; j < 4; j++)
            pl_push(answer->store, &columns[j], values[j]);
    }
    for (int j = 0; j < 4; j++)
        pl_answer_list(answer, &columns[j]);
}

static void know(struct pl_answer *answer, const void *pointer)
{
    const struct phases *given = pointer;
    struct knowing *knowing = pl_get(answer->store, 1, sizeof *knowing);
    begin(knowing, answer->store, given);
    for (int64_t i = 0; i < 2 * given->count; i++) {
        if (given->points[i] < given->count)
            send(knowing, given->points[i]);
        else
            receive(knowing, given->points[i] - given->count);
    }
    answer_phases(answer, knowing);
    pl_answer_list(answer, &knowing->message);
    pl_answer_list(answer, &knowing->phase);
    pl_answer_list(answer, &knowing->set);
    struct pl_list sizes = {0};
    for (int64_t set = 0; set < knowing->sets.count; set++) {
        int64_t size = 0;
        for (int64_t word = 0; word < knowing->words; word++)
            size += __builtin_popcountll(pl_set(&knowing->sets, set)[word]);
        pl_push(answer->store, &sizes, size);
    }
    pl_answer_list(answer, &sizes);
    pl_answer_with(answer, (const int64_t *)knowing->sets.bits,
                   knowing->sets.count * knowing->words);
}

/* Phases of a class, and by message that was received: its phase, and the number of the set of
 * ranks whose contribution it was; sizes and bits of the sets. Of a rooted class each rank but the
 * root sends once, when it has what it waits for; else a phase ends for a rank when it knows of all
 * others, and what it sends then only tells those that do not. */
PL_ENTRY struct pl_answer *pl_phases(const struct pl_traffic *traffic, const int64_t *messages,
                                     const int64_t *points, int64_t count, const int64_t *group,
                                     int64_t size, int64_t rooted)
{
    return pl_answered(know,
                       &(struct phases){traffic, messages, points, count, group, size, rooted});
}
